import { elapsed } from "@topicsync/lib/platform";
import { Turns } from "@topicsync/lib/concurrency/turns";
import { measureRecord, type LogReader, type LogRecord, type OffsetRange } from "@topicsync/kafka";

export interface LatestOptions<T> {
  readonly ranges: readonly OffsetRange[];
  readonly limit: number;
  /** Returns undefined for a record that is not wanted. */
  readonly select: (record: LogRecord, partition: number) => T | undefined;
  /** Reading ends after this many records or milliseconds, with what was found. */
  readonly maxRecords: number;
  readonly maxMs: number;
  /** Stops reading, which then throws UnavailableError. */
  readonly abort: AbortSignal;
}

export interface Latest<T> {
  /** Latest first. */
  readonly items: readonly T[];
  /** How many records were looked at. */
  readonly records: number;
  /** What is not read yet; empty ranges are left out. */
  readonly rest: readonly OffsetRange[];
}

/** Of the first records that are read of a partition: they may be large. */
const firstSize = 64;
const maxSize = 4_000;
const wantedBytes = 1024 * 1024;
const maxGrowth = 4;

interface Found<T> {
  readonly offset: number;
  readonly time: number;
  readonly item: T;
}

/** A range that is read from its end. */
interface Tail<T> {
  readonly partition: number;
  readonly from: number;
  /** The records from here on were read. */
  to: number;
  /** The time of the earliest of them. */
  time: number;
  /** What was selected of them and is not taken yet, latest first. */
  found: Found<T>[];
  /** How many offsets are read next. */
  size: number;
}

/**
 * Reads the latest records of some ranges, in the order of their timestamps as far as these grow with the
 * offsets. Kafka is read forwards: a window at the end of each range, then the one before it, first in the
 * partition that has come least far back.
 */
export async function readLatest<T>(
  kafka: Pick<LogReader, "readRanges">,
  topic: string,
  options: LatestOptions<T>,
): Promise<Latest<T>> {
  const { limit, maxRecords, maxMs } = options;
  const tails = options.ranges.map((range): Tail<T> => ({
    ...range,
    time: Infinity,
    found: [],
    size: firstSize,
  }));
  const end = elapsed() + maxMs;
  const turns = new Turns();
  let records = 0;
  // Each partition is read once in any case: otherwise, reading on might never get further.
  const isOver = (): boolean =>
    tails.every(({ time }) => time < Infinity) && (records >= maxRecords || elapsed() > end);

  /** Reads the window before what was read. Leaves the tail as it is if the time is over. */
  async function readWindow(tail: Tail<T>): Promise<void> {
    const { partition, from, to, size } = tail;
    const window = { partition, from: Math.max(from, to - size), to };
    const found: Found<T>[] = [];
    let [bytes, count, time] = [0, 0, tail.time];
    for await (const part of kafka.readRanges(topic, { ranges: [window], abort: options.abort }))
      for (const record of part.records) {
        if (turns.isOver()) await turns.next();
        if (isOver()) return;
        if (count === 0) time = Number(record.timestamp);
        count += 1;
        bytes += measureRecord(record);
        const item = options.select(record, partition);
        if (item !== undefined) found.push({ offset: record.offset, time: Number(record.timestamp), item });
      }
    records += count;
    tail.found.push(...found.reverse());
    tail.to = window.from;
    // Nothing is there: a compacted part of the log, or the markers of transactions.
    tail.time = time === Infinity ? Number.MAX_SAFE_INTEGER : time;
    const growth = bytes === 0 ? maxGrowth : Math.min(maxGrowth, wantedBytes / bytes);
    tail.size = Math.min(Math.max(1, Math.floor(size * growth)), bytes === 0 ? Infinity : maxSize);
  }

  for (let next = findNext(tails); next !== undefined; next = findNext(tails)) {
    const { time } = next;
    if (countSince(tails, time) >= limit || isOver()) break;
    await readWindow(next);
  }
  return { items: takeLatest(tails, limit), records, rest: toRest(tails) };
}

/** The tail that has come least far back; undefined once everything is read. */
const findNext = <T>(tails: readonly Tail<T>[]): Tail<T> | undefined =>
  tails
    .filter(({ from, to }) => from < to)
    .reduce<Tail<T> | undefined>(
      (next, tail) => (next === undefined || tail.time > next.time ? tail : next),
      undefined,
    );

const countSince = <T>(tails: readonly Tail<T>[], time: number): number =>
  tails.reduce((sum, { found }) => sum + found.filter((one) => one.time >= time).length, 0);

/** Takes what is later than everything that is not read yet. A partition keeps the order of its offsets. */
function takeLatest<T>(tails: readonly Tail<T>[], limit: number): T[] {
  const items: T[] = [];
  const getTime = ({ found: [first], from, to, time }: Tail<T>): number =>
    Math.max(first?.time ?? -Infinity, from < to ? time : -Infinity);
  while (items.length < limit) {
    const latest = tails.reduce<Tail<T> | undefined>(
      (one, other) => (one !== undefined && getTime(one) >= getTime(other) ? one : other),
      undefined,
    );
    const taken = latest?.found.shift();
    // Something later may not be read yet.
    if (taken === undefined) break;
    items.push(taken.item);
  }
  return items;
}

/** What was found and not taken is read again. */
const toRest = <T>(tails: readonly Tail<T>[]): OffsetRange[] =>
  tails
    .map(({ partition, from, to, found: [first] }) => ({
      ...{ partition, from },
      to: first === undefined ? to : first.offset + 1,
    }))
    .filter(({ from, to }) => from < to);
