import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Backtest } from "../../../../src/plans/impact/backtest.ts";

const place = { partition: 0, timestamp: -1, bytes: 1, record: {}, only: undefined };
const topic = (externalId: string, headerQuery: string) => ({ externalId, namespace: "", headerQuery });

describe("a backtest", () => {
  it("counts events per topic and per type, and those that no topic wants", () => {
    const backtest = new Backtest();
    for (const one of [topic("b", "eventType=B"), topic("a", "eventType=A,B"), topic("x", "a=1;b=2")])
      backtest.addTopic(one);
    for (const [offset, event] of [
      { eventType: "B" },
      { eventType: "A" },
      { eventType: "A" },
      { eventType: "C" },
      {},
    ].entries())
      backtest.add({ ...place, offset, event });
    assert.equal(backtest.invalid, 1);
    assert.deepEqual(backtest.topics, [
      ["a", 3],
      ["b", 1],
    ]);
    assert.deepEqual(backtest.types, [
      ["A", { events: 2, unmatched: 0 }],
      ["", { events: 1, unmatched: 1 }],
      ["B", { events: 1, unmatched: 0 }],
      ["C", { events: 1, unmatched: 1 }],
    ]);
  });

  it("counts types beyond a thousand together", () => {
    const backtest = new Backtest();
    for (let offset = 0; offset < 5_000; offset += 1)
      backtest.add({ ...place, offset, event: { eventType: `T${offset % 2_500}` } });
    assert.equal(backtest.types.length, 1_001);
    assert.deepEqual(backtest.types[0], ["(other types)", { events: 3_000, unmatched: 3_000 }]);
  });

  it("counts a replay only for the topics that it goes to", () => {
    const backtest = new Backtest();
    for (const one of [topic("a", ""), topic("b", "")]) backtest.addTopic(one);
    backtest.add({ ...place, offset: 0, event: {}, only: new Set(["b"]) });
    assert.deepEqual(backtest.topics, [
      ["a", 0],
      ["b", 1],
    ]);
  });
});
