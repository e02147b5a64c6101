import assert from "node:assert/strict";
import { it } from "node:test";

import { DeliveredEvents } from "../../../../consumers/backfills/delivered.ts";

it("knows events by their ids, within its ranges and before them", () => {
  const range = { topicId: null, position: 10, copies: 0 };
  const delivered = new DeliveredEvents("a-b", [
    { ...range, partition: 0, from: 10, to: 29, epoch: 1 },
    { ...range, partition: 12, from: 10, to: 20, epoch: 2 },
  ]);
  const known = [
    "a-b-0-10",
    "a-b-0-17",
    "a-b-0-28",
    "a-b-12-15-2",
    "a-b-0-9",
    "a-b-3-5",
    "c-0-11",
    "",
    "a-b-0-x",
  ];
  for (const id of known) delivered.add(id);
  for (const id of known) assert.ok(delivered.has(id), id);
  const others = ["a-b-0-11", "a-b-0-18", "a-b-12-15", "a-b-12-14-2", "a-b-0-8", "a-0-10", "a-b-0-10-2"];
  for (const id of others) assert.ok(!delivered.has(id), id);
  // What follows the ranges is not asked for, and takes no memory.
  delivered.add("a-b-0-1000000000000");
  assert.ok(!delivered.has("a-b-0-1000000000000"));
});
