import assert from "node:assert/strict";
import { it } from "node:test";

import type { LogRecord } from "@topicsync/kafka";
import { createTopicStates, type TopicStatesOptions } from "../../../src/dead-letters/topic-states.ts";

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

const createStates = (records: readonly LogRecord[], sources: Partial<TopicStatesOptions> = {}) =>
  createTopicStates({
    sync: { findTopics: () => Promise.resolve([]) } as never,
    positions: [],
    identify: () => "busy",
    reader: {
      fetchBounds: () => Promise.resolve(new Map([[0, { low: 0, high: records.length }]])),
      async *read() {
        for (const one of records) yield await Promise.resolve({ partition: 0, record: one });
      },
    },
    replays: { findSent: () => Promise.resolve([]) },
    topic: "announcements",
    abort: new AbortController().signal,
    ...sources,
  });

it("copies no list for each pending announcement of the same topic", async () => {
  const states = createStates(Array.from({ length: count }, (_, offset) => ({ ...record, offset })));
  const iterated = await countIterated(async () => {
    const found = await states.find(["busy"]);
    assert.equal(found.length, count);
  });
  assert.ok(iterated < 10 * count, `${iterated} elements`);
});

it("puts a replay where its dead letter was, in its epoch of the same partition", async () => {
  const at = { topic: "announcements", partition: 0 };
  const applied = [
    { by: { ...at, offset: 50 }, order: { offset: 4, epoch: 1 } },
    { by: { ...at, offset: 51, epoch: 2 }, order: { offset: 51, epoch: 2 } },
  ];
  const replayed = [50, 51].map((offset) => ({
    ...{ deadLetterId: "announcements-0-4", attempt: 1, startedAt: new Date(), state: "sent" as const },
    sentTo: { ...at, offset },
  }));
  const headers = ["announcements-0-1", "announcements-0-1-2", "announcements-7-1", "other-0-1", undefined];
  const asked: number[] = [];
  const states = createStates(
    headers.map((id, offset) => ({
      ...{ ...record, offset },
      headers: id === undefined ? [] : [["topicsync.replay-of", id]],
    })),
    {
      sync: {
        findTopics: () =>
          Promise.resolve(
            applied.map(({ by }) => ({ externalId: "busy", by: { kind: "announcement", ...by } })),
          ),
      } as never,
      replays: {
        findSent(positions) {
          asked.push(...positions.map(({ offset }) => offset));
          return Promise.resolve(replayed);
        },
      },
    },
  );
  const found = await states.find(["busy"]);
  assert.deepEqual(
    found.map(({ order: { offset, epoch = 1 } }) => ({ offset, epoch })),
    [
      ...applied.map(({ order }) => order),
      { offset: 1, epoch: 1 },
      { offset: 1, epoch: 2 },
      ...[2, 3, 4].map((offset) => ({ offset, epoch: 1 })),
    ],
  );
  assert.deepEqual(asked, [50, 51]);
});
