/** The latest records are those that sorting the whole log by time finds, page by page. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { LogReader, LogRecord, OffsetRange } from "@topicsync/kafka";
import { readLatest, type Latest } from "../../../../consumers/event-log/latest.ts";
import { chooseSeed, createRandom } from "../../../support/random.ts";

const abort = new AbortController().signal;

interface Logged {
  readonly partition: number;
  readonly record: LogRecord;
}

const createRecord = (offset: number, time: number): LogRecord => ({
  ...{ offset, timestamp: String(time), key: null, headers: [] },
  value: Buffer.from("x"),
});

/** Returns what is stored of each range in parts of three records. */
const serve = (logs: readonly Logged[]): Pick<LogReader, "readRanges"> => ({
  async *readRanges(_topic, { ranges }) {
    for (const { partition, from, to } of ranges) {
      const records = logs
        .filter((one) => one.partition === partition && one.record.offset >= from && one.record.offset < to)
        .map(({ record }) => record);
      for (let at = 0; at < records.length; at += 3)
        yield await Promise.resolve({ partition, records: records.slice(at, at + 3), end: to });
    }
  },
});

const toPlace = ({ partition, record }: Logged): string => `${partition}-${record.offset}`;

/** Reads all pages. */
async function readPages(
  logs: readonly Logged[],
  ranges: readonly OffsetRange[],
  more: {
    readonly limit: number;
    readonly maxRecords?: number;
    readonly isWanted?: (one: Logged) => boolean;
  },
): Promise<Latest<string>[]> {
  const { limit, maxRecords = Infinity, isWanted = () => true } = more;
  const pages: Latest<string>[] = [];
  for (let rest = ranges; rest.length > 0; rest = pages.at(-1)?.rest ?? []) {
    assert.ok(pages.length < 10_000, "reading on gets further");
    pages.push(
      await readLatest(serve(logs), "events", {
        ...{ ranges: rest, limit, maxRecords, maxMs: Infinity, abort },
        select: (record, partition) =>
          isWanted({ partition, record }) ? toPlace({ partition, record }) : undefined,
      }),
    );
  }
  return pages;
}

const toItems = (pages: readonly Latest<string>[]): string[] => pages.flatMap(({ items }) => [...items]);

describe("the latest records", () => {
  it("come in the order of their times, over all partitions and pages", async () => {
    const { seed, hint } = chooseSeed("SEED");
    const random = createRandom(seed);
    for (let round = 0; round < 60; round += 1) {
      const partitions = random.between(1, 4);
      const logs: Logged[] = [];
      const ranges: OffsetRange[] = [];
      // Each time occurs once, so that there is one order.
      let time = 1_000;
      const offsets = Array.from({ length: partitions }, () => random.between(0, 50));
      const starts = [...offsets];
      for (let count = random.between(0, 700); count > 0; count -= 1) {
        const partition = random.between(0, partitions - 1);
        const offset = (offsets[partition] ?? 0) + (random.chance(0.02) ? random.between(0, 300) : 0);
        logs.push({ partition, record: createRecord(offset, (time += 1)) });
        offsets[partition] = offset + 1;
      }
      for (const [partition, from] of starts.entries())
        ranges.push({ partition, from, to: offsets[partition] ?? from });
      const every = random.between(1, 40);
      const isWanted = ({ record }: Logged): boolean => Number(record.timestamp) % every === 0;
      const pages = await readPages(logs, ranges, {
        limit: random.between(1, 100),
        maxRecords: random.chance(0.5) ? Infinity : random.between(1, 300),
        isWanted,
      });
      const expected = logs.filter(isWanted).map(toPlace).reverse();
      assert.deepEqual(toItems(pages), expected, `${hint}, round ${round}`);
    }
  });

  it("are all found once, if times do not grow with the offsets", async () => {
    const random = createRandom(1);
    const logs = Array.from({ length: 600 }, (_, at) => ({
      partition: at % 3,
      record: createRecord(Math.floor(at / 3), random.between(0, 1_000)),
    }));
    const ranges = [0, 1, 2].map((partition) => ({ partition, from: 0, to: 200 }));
    const items = toItems(await readPages(logs, ranges, { limit: 7, maxRecords: 50 }));
    assert.deepEqual(items.toSorted(), logs.map(toPlace).toSorted());
  });

  it("are read in few records where all are wanted", async () => {
    const logs = Array.from({ length: 500 }, (_, offset) => ({
      partition: 0,
      record: createRecord(offset, offset),
    }));
    const [page] = await readPages(logs, [{ partition: 0, from: 0, to: 500 }], { limit: 50 });
    assert.deepEqual([page?.records, page?.items.length], [64, 50]);
  });
});
