import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createEvent, routerStage, textOf } from "../../support/router-scene.ts";
import { getSyncStatus } from "../../support/scene.ts";

const { routerScene } = routerStage();

const defineTopic = (externalId: string, headerQuery: string, contentQuery = "") => ({
  externalId,
  name: externalId,
  namespace: "n",
  headerQuery,
  contentQuery,
});

describe("the router", () => {
  it("forwards each event to every topic whose filters it meets, with its bytes, key, headers and time", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    await scene.send(
      defineTopic("tickets", "eventType=TicketEvent"),
      defineTopic("critical", "eventType=TicketEvent", "severity=critical"),
      defineTopic("orders", "eventType=OrderEvent"),
    );
    await scene.stored(3);
    const critical = createEvent("TicketEvent", { severity: "critical" });
    const value = `  ${JSON.stringify(critical)}\n`;
    await scene.produce(
      { key: "k1", value, headers: { own: "1" }, timestamp: "1700000000000" },
      { value: createEvent("TicketEvent", { severity: "low" }) },
      { value: createEvent("OtherEvent") },
    );
    await scene.routed();

    const copies = await scene.readAll(scene.egress);
    assert.deepEqual(
      copies.map((copy) => [textOf(copy, "topicsync.event"), textOf(copy, "topicsync.topic")]).sort(),
      [
        [`${scene.events}-0-0`, "critical"],
        [`${scene.events}-0-0`, "tickets"],
        [`${scene.events}-0-1`, "tickets"],
      ],
    );
    const first = copies[0];
    assert.ok(first !== undefined);
    assert.equal(first.value?.toString(), value);
    assert.equal(first.key?.toString(), "k1");
    assert.equal(first.timestamp, "1700000000000");
    assert.equal(textOf(first, "own"), "1");
    const { router } = await getSyncStatus(service);
    assert.deepEqual(router?.counts, { matched: 2, unmatched: 1, forwarded: 3, rejected: {} });
    assert.deepEqual(router.busiest, [
      { externalId: "tickets", events: 2 },
      { externalId: "critical", events: 1 },
    ]);
    assert.equal(router.partitions[0]?.lagRecords, 0);
  });
});
