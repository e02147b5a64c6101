import assert from "node:assert/strict";
import { it } from "node:test";

import { createTopicStates } from "../../../src/dead-letters/topic-states.ts";
import type { LogRecord } from "../../../src/kafka/interface/records.ts";

const count = 2_000;
const record: LogRecord = { offset: 0, timestamp: "0", key: null, value: Buffer.from("{}"), headers: [] };

/** Runs `work` and counts the elements of arrays that it iterates over. */
async function countIterated(work: () => Promise<unknown>): Promise<number> {
  const original = Object.getOwnPropertyDescriptor(Array.prototype, "values");
  assert.ok(original !== undefined);
  const values = original.value as () => ArrayIterator<unknown>;
  let iterated = 0;
  const counting = {
    configurable: true,
    writable: true,
    value: function* (this: unknown[]) {
      for (const value of { [Symbol.iterator]: () => values.call(this) }) {
        iterated += 1;
        yield value;
      }
    },
  };
  Object.defineProperty(Array.prototype, Symbol.iterator, counting);
  try {
    await work();
  } finally {
    Object.defineProperty(Array.prototype, Symbol.iterator, original);
  }
  return iterated;
}

it("copies no list for each pending announcement of the same topic", async () => {
  const states = createTopicStates({
    sync: { findTopics: () => Promise.resolve([]) } as never,
    positions: [],
    identify: () => "busy",
    reader: {
      fetchBounds: () => Promise.resolve(new Map([[0, { low: 0, high: count }]])),
      async *read() {
        for (let offset = 0; offset < count; offset += 1)
          yield await Promise.resolve({ partition: 0, record: { ...record, offset } });
      },
    },
    topic: "announcements",
    abort: new AbortController().signal,
  });
  const iterated = await countIterated(async () => {
    const found = await states.find(["busy"]);
    assert.equal(found.length, count);
  });
  assert.ok(iterated < 10 * count, `${iterated} elements`);
});
