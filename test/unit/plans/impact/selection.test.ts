import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { RejectionError, UnavailableError } from "@topicsync/lib/errors";
import {
  selectRanges,
  type EventSelection,
  type OffsetSource,
} from "../../../../src/plans/impact/selection.ts";

interface ModelPartition {
  readonly low: number;
  /** Of the records from `low` on. */
  readonly timestamps: readonly number[];
}

/** Answers like Kafka: the first record whose timestamp is not before a time. */
const createSource = (partitions: readonly ModelPartition[]): OffsetSource & { requests: number } => ({
  requests: 0,
  fetchBounds: () =>
    Promise.resolve(
      new Map(
        partitions.map(({ low, timestamps }, partition) => [
          partition,
          { low, high: low + timestamps.length, topicId: "id" },
        ]),
      ),
    ),
  findFirstSince(_topic, time) {
    this.requests += 1;
    return Promise.resolve(
      new Map(
        partitions.map(({ low, timestamps }, partition) => {
          const at = timestamps.findIndex((one) => one >= time);
          return [partition, low + (at === -1 ? timestamps.length : at)];
        }),
      ),
    );
  },
});

const select = async (partitions: readonly ModelPartition[], selection: EventSelection) =>
  (await selectRanges(createSource(partitions), "events", selection)).ranges;

const now = Date.now();
const timestamp = fc.oneof(
  fc.integer({ min: now - 100_000, max: now }),
  fc.integer({ min: now - 5, max: now }),
  fc.constantFrom(-1, 0, now + 1e9, now * 1_000),
);
const anyPartitions = fc.array(
  fc.record({ low: fc.integer({ min: 0, max: 50 }), timestamps: fc.array(timestamp, { maxLength: 60 }) }),
  { minLength: 1, maxLength: 4 },
);

describe("the selection of the last records", () => {
  it("has exactly as many offsets, at the end of each partition", async () => {
    await fc.assert(
      fc.asyncProperty(anyPartitions, fc.integer({ min: 1, max: 150 }), async (partitions, count) => {
        const ranges = await select(partitions, { last: count });
        const all = partitions.reduce((sum, { timestamps }) => sum + timestamps.length, 0);
        assert.equal(
          ranges.reduce((sum, { from, to }) => sum + to - from, 0),
          Math.min(count, all),
        );
        for (const { partition, from, to } of ranges) {
          const { low = 0, timestamps = [] } = partitions[partition] ?? {};
          assert.ok(from >= low && from <= to);
          assert.equal(to, low + timestamps.length);
        }
      }),
    );
  });

  it("has the latest ones, up to a twentieth more or those of the same millisecond", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: now - 10_000_000, max: now }), { maxLength: 80 }), {
          minLength: 1,
          maxLength: 4,
        }),
        fc.integer({ min: 1, max: 200 }),
        async (lists, count) => {
          const partitions = lists.map((list) => ({ low: 7, timestamps: list.toSorted((a, b) => a - b) }));
          const ranges = await select(partitions, { last: count });
          const chosen = ranges.flatMap(({ partition, from }) =>
            (partitions[partition]?.timestamps ?? []).slice(from - 7),
          );
          const latest = partitions
            .flatMap(({ timestamps }) => timestamps)
            .toSorted((a, b) => b - a)
            .slice(0, Math.ceil(count * 1.05) + 1);
          const oldest = latest.at(-1) ?? 0;
          for (const one of chosen) assert.ok(one >= oldest, `${one} is older than ${oldest}`);
        },
      ),
    );
  });

  it("takes some thirty requests", async () => {
    const timestamps = Array.from({ length: 5_000 }, (_, at) => now - 5e9 + at * 1e6);
    const source = createSource([{ low: 0, timestamps }]);
    await selectRanges(source, "events", { last: 900 });
    assert.ok(source.requests <= 30, String(source.requests));
  });
});

describe("the selection by time", () => {
  const partitions = [
    { low: 10, timestamps: [100, 200, 300] },
    { low: 0, timestamps: [150] },
  ];
  it("begins with the first record since the time, and ends before the other time", async () => {
    assert.deepEqual(await select(partitions, { from: 150, to: 300 }), [
      { partition: 0, from: 11, to: 12 },
      { partition: 1, from: 0, to: 1 },
    ]);
    assert.deepEqual(await select(partitions, { from: undefined, to: 100 }), [
      { partition: 0, from: 10, to: 10 },
      { partition: 1, from: 0, to: 0 },
    ]);
    assert.deepEqual(await select(partitions, { from: 300, to: 100 }), [
      { partition: 0, from: 12, to: 12 },
      { partition: 1, from: 1, to: 1 },
    ]);
  });
});

describe("the selection by offsets", () => {
  const partitions = [
    { low: 10, timestamps: [1, 2, 3] },
    { low: 0, timestamps: [1] },
  ];
  it("is what was asked for, in the order of the partitions", async () => {
    const ranges = [
      { partition: 1, from: 0, to: 0 },
      { partition: 0, from: 10, to: 13 },
    ];
    assert.deepEqual(await select(partitions, { offsets: ranges }), ranges.toReversed());
  });

  it("names every range that Kafka does not have, and the offsets that it has", async () => {
    const ranges = [
      { partition: 0, from: 9, to: 11 },
      { partition: 0, from: 10, to: 11 },
      { partition: 1, from: 0, to: 2 },
      { partition: 2, from: 0, to: 1 },
      { partition: 3, from: 5, to: 4 },
    ];
    await assert.rejects(select(partitions, { offsets: ranges }), (error: unknown) => {
      assert.ok(error instanceof RejectionError);
      assert.deepEqual(
        error.details.map(({ path, message }) => `${path} ${message}`),
        [
          "/offsets/0 of partition 0 begins with an offset that Kafka no longer keeps: begin with 10 or a later one",
          "/offsets/1 has partition 0 a second time",
          "/offsets/2 of partition 1 ends after the last record that can be read: end with 1 or an earlier one",
          "/offsets/3 names partition 2, which does not exist",
          "/offsets/4 names partition 3, which does not exist",
        ],
      );
      return true;
    });
  });

  it("is an outage without the Kafka topic", async () => {
    const missing = { ...createSource([]), fetchBounds: () => Promise.resolve(undefined) };
    await assert.rejects(
      selectRanges(missing, "events", { last: 1 }),
      (error: unknown) =>
        error instanceof UnavailableError && /no Kafka topic named "events"/.test(error.message),
    );
  });
});
