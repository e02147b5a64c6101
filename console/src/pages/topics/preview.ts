import { useEffect, useRef, useState } from "preact/hooks";

import type { ErrorBody } from "../../../../schemas/error.ts";
import type { ImpactBody, ImpactResult } from "../../../../schemas/impact.ts";
import { api, ApiError, toApiError } from "../../api.ts";
import { isSessionExpired } from "../../query.ts";
import { useSession } from "../../session.ts";

export const previewedEvents = 20_000;

/** A definition in a preview. */
export type PreviewedTopic = ImpactBody["changes"][number];

type PreviewState =
  | { readonly kind: "idle" }
  | { readonly kind: "running"; readonly done: number; readonly total: number }
  | { readonly kind: "failed"; readonly error: unknown }
  /** `topic` is what was tested. */
  | { readonly kind: "done"; readonly result: ImpactResult; readonly topic: PreviewedTopic };

interface Preview {
  readonly state: PreviewState;
  readonly start: (topic: PreviewedTopic) => void;
  readonly stop: () => void;
}

type PreviewEvent =
  { readonly done: number; readonly total: number } | { readonly result: ImpactResult } | ErrorBody;

/** Compares a definition with the stored one on the last events. Ends with its component. */
export function usePreview(): Preview {
  const [state, setState] = useState<PreviewState>({ kind: "idle" });
  const running = useRef<AbortController>();
  const { expire } = useSession();

  async function run(topic: PreviewedTopic, abort: AbortController): Promise<PreviewState> {
    const body: ImpactBody = { changes: [topic], last: previewedEvents };
    for await (const event of api.stream<PreviewEvent>("/api/topicsync/v1/impact", body, abort.signal)) {
      if ("result" in event) return { kind: "done", result: event.result, topic };
      if ("error" in event) throw toApiError(event);
      setState({ kind: "running", ...event });
    }
    throw new ApiError(0, {
      message: "The preview ended without a result.",
      detail: "The service may be stopping; try again.",
      details: [],
    });
  }

  function stop(): void {
    running.current?.abort();
    setState({ kind: "idle" });
  }
  useEffect(() => () => running.current?.abort(), []);

  return {
    state,
    start: (topic) => {
      running.current?.abort();
      const abort = new AbortController();
      running.current = abort;
      setState({ kind: "running", done: 0, total: previewedEvents });
      run(topic, abort).then(
        (next) => {
          if (!abort.signal.aborted) setState(next);
        },
        (error: unknown) => {
          if (abort.signal.aborted) return;
          if (isSessionExpired(error)) expire();
          else setState({ kind: "failed", error });
        },
      );
    },
    stop,
  };
}
