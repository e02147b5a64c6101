import assert from "node:assert/strict";
import { it } from "node:test";

import { CountedRange } from "../../../../consumers/events/handler.ts";

it("a record is counted once, unless its log is another one or reading begins before it", () => {
  const counted = new CountedRange();
  const add = (epoch: number, ...offsets: number[]) => offsets.filter((offset) => counted.add(offset, epoch));
  assert.deepEqual(add(1, 5, 6, 9), [5, 6, 9]);
  assert.deepEqual(add(1, 5, 6, 7, 9, 10), [10]);
  assert.deepEqual(add(2, 5, 6), [5, 6]);
  assert.deepEqual(add(2, 0, 1, 2, 5), [0, 1, 2, 5]);
  assert.deepEqual(add(2, 4, 5, 6), [6]);
});
