import { useEffect, useState } from "preact/hooks";

import type { Overview } from "../../schemas/overview.ts";
import { api } from "./api.ts";
import { base } from "./base.ts";
import { isSessionExpired } from "./query.ts";
import { useSession } from "./session.ts";

interface LiveState<T> {
  /** The latest value; undefined until the first one. */
  readonly value: T | undefined;
  /** Why no events arrive at the moment. */
  readonly error: unknown;
}

/** Follows the overview. */
export const useOverview = (): LiveState<Overview> =>
  useLive("/api/topicsync/v1/overview", "/api/topicsync/v1/overview/events");

const reconnectDelayMs = 3_000;

/**
 * Follows server-sent events whose data has the same shape as the response of `path`. An `EventSource` does
 * not say why it fails, so `path` is requested then.
 */
function useLive<T>(path: string, eventsPath: string): LiveState<T> {
  const [live, setLive] = useState<LiveState<T>>({ value: undefined, error: undefined });
  const { expire } = useSession();

  useEffect(() => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;

    function handleError(error: unknown): void {
      if (isSessionExpired(error)) expire();
      else setLive(({ value }) => ({ value, error }));
    }

    function connect(): void {
      source = new EventSource(base + eventsPath);
      source.onmessage = ({ data }: MessageEvent<string>) => {
        setLive({ value: JSON.parse(data) as T, error: undefined });
      };
      source.onerror = () => {
        source?.close();
        timer = setTimeout(connect, reconnectDelayMs);
        api.get<T>(path).then((value) => {
          setLive({ value, error: undefined });
        }, handleError);
      };
    }

    connect();
    return () => {
      source?.close();
      clearTimeout(timer);
    };
  }, [path, eventsPath]);
  return live;
}
