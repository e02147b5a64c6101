import assert from "node:assert/strict";
import { it } from "node:test";

import { loadPrivate } from "../../workarounds/patch.ts";
import { stopIdleChecks } from "../../workarounds/connections.ts";

interface Queue {
  readonly throttleCheckTimeoutId: NodeJS.Timeout | null;
  scheduleCheckPendingRequests(): void;
}

it("stops the checks of an empty queue, which stock kafkajs schedules endlessly", () => {
  const RequestQueue = loadPrivate("network/requestQueue/index.js") as new (options: object) => Queue;
  const createQueue = (): Queue => {
    const one = new RequestQueue({});
    one.scheduleCheckPendingRequests();
    return one;
  };

  const { throttleCheckTimeoutId } = createQueue();
  assert.ok(throttleCheckTimeoutId !== null, "kafkajs no longer needs stopIdleChecks");
  clearTimeout(throttleCheckTimeoutId);

  stopIdleChecks();
  assert.equal(createQueue().throttleCheckTimeoutId, null);
});
