import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { getAgeAt } from "../../../consumers/age.ts";

const now = 1_800_000_000_000;

/** Answers like a broker with records of these timestamps. */
const createBroker = (timestamps: readonly number[]) => (timestamp: number) => {
  const found = timestamps.findIndex((one) => one >= timestamp);
  return Promise.resolve(found === -1 ? timestamps.length : found);
};

describe("the age of a record", () => {
  it("is exact to 5 % or 50 ms, for records from now to decades ago", async () => {
    const ages = fc.array(fc.integer({ min: 0, max: 40 * 365 * 86_400_000 }), {
      minLength: 1,
      maxLength: 50,
    });
    await fc.assert(
      fc.asyncProperty(ages, fc.nat(), async (some, pick) => {
        const timestamps = some.map((age) => now - age).toSorted((a, b) => a - b);
        const offset = pick % timestamps.length;
        const truth = now - (timestamps[offset] ?? NaN);
        const found = await getAgeAt(offset, createBroker(timestamps), now);
        assert.ok(found >= truth - 1, `${found} is less than ${truth}`);
        assert.ok(found <= Math.max(truth * 1.06, truth + 51), `${found} is more than ${truth}`);
      }),
    );
  });

  it("needs few queries: 25 for a record of a year ago", async () => {
    let queries = 0;
    const ask = createBroker([now - 365 * 86_400_000]);
    await getAgeAt(0, (timestamp) => ((queries += 1), ask(timestamp)), now);
    assert.ok(queries <= 25, `${queries} questions`);
  });

  it("is found for a record without a timestamp", async () => {
    assert.ok((await getAgeAt(0, createBroker([-1, now]), now)) >= now);
  });
});
