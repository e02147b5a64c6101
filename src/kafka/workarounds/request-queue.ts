import { createRequire } from "node:module";

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

let quiet = false;

/**
 * Stops kafkajs 2.2.4 from looking at its queue of pending requests some 900 times a second while it is empty, which
 * takes 2 % of a core when idle and warns of negative timeouts on Node 24 (its issues 1556 and 1751). The queue is
 * looked at whenever a request is put into it, so an empty one needs no timer.
 */
export function quietTimers(): void {
  if (quiet) return;
  quiet = true;
  const require = createRequire(import.meta.url);
  const { prototype } = require("kafkajs/src/network/requestQueue/index.js") as { prototype: RequestQueue };
  const schedule = Reflect.get(prototype, "scheduleCheckPendingRequests");
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this);
  };
}
