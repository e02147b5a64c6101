import { patchMethod } from "./patch.ts";

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

/**
 * Stops kafkajs 2.2.4 from checking its queue of pending requests some 900 times a second while it is empty, which takes 2 %
 * of a core and warns of negative timeouts on Node 24 (its issues 1556 and 1751). Every enqueued request starts a check, so
 * an empty queue needs no timer.
 */
export function stopIdleChecks(): void {
  patchMethod<"scheduleCheckPendingRequests", RequestQueue>(
    "network/requestQueue/index.js",
    "scheduleCheckPendingRequests",
    (schedule) =>
      function (this: RequestQueue) {
        if (this.pending.length > 0) schedule.call(this);
      },
  );
}
