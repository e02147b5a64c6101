import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { RoutedEvent } from "../../../src/routing/plan.ts";
import { createRouterTally } from "../../../src/routing/tally.ts";

const toEvent = (...topics: string[]): RoutedEvent => ({
  record: { offset: 0, timestamp: "0", key: null, value: null, headers: [] },
  id: "id",
  topics,
  isUnmatched: topics.length === 0,
});

const createBatch = (...events: RoutedEvent[]) => ({
  events,
  forwarded: 0,
  unroutable: 0,
  missedTimes: 0,
  rejected: [],
  producedOn: [],
  routedOn: 0,
  tookMs: 0,
});

describe("the tally of the router", () => {
  it("counts events, copies and dead letters, and lists the busiest topics", () => {
    const tally = createRouterTally();
    tally.add({
      ...createBatch(toEvent("a", "b"), toEvent("b"), toEvent()),
      forwarded: 3,
      rejected: ["NO_EGRESS_TOPIC"],
    });
    assert.deepEqual(tally.getCounts(), {
      matched: 2,
      unmatched: 1,
      forwarded: 3,
      rejected: { NO_EGRESS_TOPIC: 1 },
    });
    assert.deepEqual(tally.listBusiest(), [
      { externalId: "b", events: 2 },
      { externalId: "a", events: 1 },
    ]);
  });

  it("keeps the busiest of more topics than it counts", () => {
    const tally = createRouterTally();
    for (let i = 0; i < 3; i += 1) tally.add(createBatch(toEvent("busy")));
    for (let i = 0; i < 50_000; i += 1) tally.add(createBatch(toEvent(`topic-${i}`)));
    const [first, ...others] = tally.listBusiest();
    assert.deepEqual(first, { externalId: "busy", events: 3 });
    assert.equal(others.length, 9);
  });
});
