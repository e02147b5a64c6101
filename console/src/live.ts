import { useEffect, useState } from "preact/hooks";

import { ApiError, ask } from "./api.ts";
import { useSession } from "./session.ts";

/** Something that the service tells again and again. */
export interface Live<T> {
  /** What was told last; undefined until something was. */
  readonly value: T | undefined;
  /** Why nothing comes at the moment; undefined while it does. */
  readonly error: unknown;
}

const againMs = 3_000;

/**
 * Listens to server-sent events whose data is JSON of the same kind as `path` answers, for as long as the page is there.
 * An `EventSource` does not say why it fails: so `path` is asked then.
 */
export function useLive<T>(path: string, events: string): Live<T> {
  const [live, setLive] = useState<Live<T>>({ value: undefined, error: undefined });
  const { leave } = useSession();

  useEffect(() => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;

    function fail(error: unknown): void {
      if (error instanceof ApiError && error.status === 401) leave("over");
      else setLive(({ value }) => ({ value, error }));
    }

    function listen(): void {
      source = new EventSource(events);
      source.onmessage = ({ data }: MessageEvent<string>) => {
        setLive({ value: JSON.parse(data) as T, error: undefined });
      };
      source.onerror = () => {
        source?.close();
        timer = setTimeout(listen, againMs);
        ask<T>(path).then((value) => {
          setLive({ value, error: undefined });
        }, fail);
      };
    }

    listen();
    return () => {
      source?.close();
      clearTimeout(timer);
    };
  }, [path, events]);
  return live;
}
