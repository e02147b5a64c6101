import { RejectionError, UnavailableError } from "@topicsync/lib/errors";
import { now } from "@topicsync/lib/platform";
import type { LogBounds, LogReader, OffsetRange, TopicBounds } from "@topicsync/kafka";
import { maxImpactEvents } from "../../../schemas/impact.ts";

/** Which records are read: the last ones, those of a time, or those with some offsets. */
export interface EventSelection {
  /** How many; 100,000 by default. */
  readonly last?: number | undefined;
  /** Milliseconds since 1970, by the timestamps of the records. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly offsets?: readonly OffsetRange[] | undefined;
}

/** The offsets of a Kafka topic that are read, by partition. */
export interface SelectedRanges {
  readonly ranges: readonly OffsetRange[];
  /** Undefined where brokers have no ids. */
  readonly topicId: string | undefined;
}

/** Where the offsets of a Kafka topic are looked up. */
export type OffsetSource = Pick<LogReader, "fetchBounds" | "findFirstSince">;

type Bounds = ReadonlyMap<number, TopicBounds>;

/**
 * Finds the offsets of a selection, up to the last stable offset of each partition. Throws a RejectionError
 * for offsets that Kafka does not have, and UnavailableError, also for a partition without a leader.
 */
export async function selectRanges(
  source: OffsetSource,
  topic: string,
  { last = maxImpactEvents, from, to, offsets }: EventSelection,
): Promise<SelectedRanges> {
  const bounds = await source.fetchBounds(topic);
  if (bounds === undefined) throw new UnavailableError(`there is no Kafka topic named "${topic}"`);
  const [first] = bounds.values();
  const select = (ranges: OffsetRange[]): SelectedRanges => ({ ranges, topicId: first?.topicId });
  if (offsets !== undefined) return select(checkRanges(offsets, bounds));
  if (from === undefined && to === undefined)
    return select(await findLast(source, topic, { bounds, count: last }));
  const lows = from === undefined ? toLows(bounds) : await findSince(source, topic, { bounds, time: from });
  const highs = to === undefined ? toHighs(bounds) : await findSince(source, topic, { bounds, time: to });
  return select(toRanges(lows, highs));
}

const maxFaults = 20;

function checkRanges(ranges: readonly OffsetRange[], bounds: Bounds): OffsetRange[] {
  const seen = new Set<number>();
  const faults = ranges.flatMap((range, at) => {
    const message = seen.has(range.partition)
      ? `has partition ${range.partition} a second time`
      : findRangeFault(range, bounds.get(range.partition));
    seen.add(range.partition);
    return message === undefined ? [] : [{ path: `/offsets/${at}`, message }];
  });
  if (faults.length > 0)
    throw new RejectionError(
      "SCHEMA_VIOLATION",
      "Kafka does not have all of these offsets.",
      faults.slice(0, maxFaults),
    );
  return ranges.toSorted((one, other) => one.partition - other.partition);
}

function findRangeFault(
  { partition, from, to }: OffsetRange,
  bounds: LogBounds | undefined,
): string | undefined {
  if (bounds === undefined) return `names partition ${partition}, which does not exist`;
  const { low, high } = bounds;
  if (from > to) return `of partition ${partition} ends before it begins`;
  if (from < low)
    return `of partition ${partition} begins with an offset that Kafka no longer keeps: begin with ${low} or a later one`;
  if (to > high)
    return `of partition ${partition} ends after the last record that can be read: end with ${high} or an earlier one`;
  return undefined;
}

/** An offset for each partition. */
type Offsets = ReadonlyMap<number, number>;

const toLows = (bounds: Bounds): Offsets =>
  new Map([...bounds].map(([partition, { low }]) => [partition, low]));
const toHighs = (bounds: Bounds): Offsets =>
  new Map([...bounds].map(([partition, { high }]) => [partition, high]));

const toRanges = (lows: Offsets, highs: Offsets): OffsetRange[] =>
  [...lows]
    .map(([partition, from]) => ({ partition, from, to: Math.max(from, highs.get(partition) ?? from) }))
    .toSorted((one, other) => one.partition - other.partition);

/** The number of offsets. */
export const countOffsets = (ranges: readonly OffsetRange[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from, 0);

/** The first readable offsets since a time. */
async function findSince(
  source: OffsetSource,
  topic: string,
  { bounds, time }: { readonly bounds: Bounds; readonly time: number },
): Promise<Offsets> {
  const found = await source.findFirstSince(topic, time);
  return new Map(
    [...bounds].map(([partition, { low, high }]) => [
      partition,
      Math.min(high, Math.max(low, found.get(partition) ?? high)),
    ]),
  );
}

const minuteMs = 60_000;
const spanGrowth = 4;
/** So much more than wanted is not worth another request: the earliest are left out. */
const tolerance = 1.05;

/** Offsets since a time: later times have fewer. */
interface Since {
  readonly time: number;
  readonly offsets: Offsets;
  readonly count: number;
}

/**
 * The last records of all partitions, this many offsets: those since a time, found by bisection. Where more
 * have the same timestamp, each partition keeps its share of them.
 */
async function findLast(
  source: OffsetSource,
  topic: string,
  { bounds, count }: { readonly bounds: Bounds; readonly count: number },
): Promise<OffsetRange[]> {
  const highs = toHighs(bounds);
  const measure = (time: number, offsets: Offsets): Since => ({
    time,
    offsets,
    count: countOffsets(toRanges(offsets, highs)),
  });
  const at = async (time: number): Promise<Since> =>
    measure(time, await findSince(source, topic, { bounds, time }));

  let early = measure(0, toLows(bounds));
  let late = measure(Infinity, highs);
  if (early.count <= count) return toRanges(early.offsets, highs);
  const latest = now();
  for (let span = 0; span < latest; span = Math.max(minuteMs, span * spanGrowth)) {
    const since = await at(latest - span);
    if (since.count >= count) {
      early = since;
      break;
    }
    late = since;
  }
  while (early.count > count * tolerance && Number.isFinite(late.time) && late.time - early.time > 1) {
    const since = await at(Math.floor((early.time + late.time) / 2));
    if (since.count >= count) early = since;
    else late = since;
  }
  return toRanges(leaveOut(early, late, early.count - count), highs);
}

/** Advances the early offsets towards the late ones by this many, each partition by its share. */
function leaveOut(early: Since, late: Since, excess: number): Offsets {
  const room = early.count - late.count;
  let left = excess;
  const advanced = new Map(early.offsets);
  const advance = (partition: number, wanted: number): void => {
    const from = advanced.get(partition) ?? 0;
    const by = Math.min(wanted, left, (late.offsets.get(partition) ?? from) - from);
    advanced.set(partition, from + by);
    left -= by;
  };
  for (const [partition, from] of early.offsets)
    advance(partition, Math.floor((((late.offsets.get(partition) ?? from) - from) * excess) / room));
  for (const partition of early.offsets.keys()) advance(partition, left);
  return advanced;
}
