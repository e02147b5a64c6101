import assert from "node:assert/strict";
import { it } from "node:test";

import type { RejectedRecord } from "../../../../src/plans/impact/events.ts";
import { ReadTally } from "../../../../src/plans/impact/read-tally.ts";

const records = Array.from({ length: 1_000 }, (_, at): RejectedRecord => {
  const code = at % 4 === 0 ? "SCHEMA_VIOLATION" : "MALFORMED_JSON";
  return { partition: at % 3, offset: Math.floor(at / 3), timestamp: at, code };
});

it("records that are not events are counted by code, and the same 20 are shown in any order", () => {
  const read = (some: readonly RejectedRecord[]) => {
    const tally = new ReadTally({ add: () => assert.fail("it is no event") });
    for (const one of some) tally.add(one);
    return tally.describe();
  };
  const counts = read(records);
  assert.deepEqual(counts.rejected, { MALFORMED_JSON: 750, SCHEMA_VIOLATION: 250 });
  assert.equal(counts.rejectedExamples.length, 20);
  assert.deepEqual(read(records.toReversed()), counts);
  const [first] = records;
  assert.ok(first !== undefined);
  assert.deepEqual(read([first]).rejectedExamples, [{ partition: 0, offset: 0, code: "SCHEMA_VIOLATION" }]);
});
