/**
 * Fault of kafkajs 2.2.4, network/requestQueue/index.js:306 (its issues 1556 and 1751): it checks its queue
 * of pending requests some 900 times a second while the queue is empty, which takes 2 % of a core and warns
 * of negative timeouts on Node 24.
 * The test in test/workarounds/request-queue.test.ts fails when kafkajs no longer needs this.
 */

import { patchMethod } from "./patch.ts";

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

/**
 * Stops the checks of an empty queue, in the whole process. Every enqueued request starts a check, so an
 * empty queue needs no timer.
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
