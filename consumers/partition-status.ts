import type { Position, PositionStore, LogObserver, ObservedBounds, Partition } from "@topicsync/kafka";
import type { SyncStatus } from "../schemas/sync-status.ts";
import { getAgeAt } from "./age.ts";

/** The status of a consumer of this process. */
export interface ConsumerStatus {
  /** "joining" until the group gave this member its partitions, which may be none. */
  readonly state: "joining" | "assigned" | "dead";
  readonly partitions: readonly ReaderStatus[];
}

/** The status of a partition that this process reads. */
export interface ReaderStatus extends Partition {
  readonly state: "reading" | "paused";
  /** Undefined while it is read. */
  readonly reason: string | undefined;
  /**
   * The failure that paused it: an outage of a service, an unexpected error, or a decision that a person has
   * to make. Undefined when nothing failed.
   */
  readonly cause: PauseCause | undefined;
  /** The offset of the next record to apply; undefined before it was looked up, or when there is none. */
  readonly offset: number | undefined;
}

export type PauseCause = "outage" | "error" | "decision";

/** A Kafka topic that a group reads, and where its status comes from. */
export interface WatchedLog {
  readonly group: string;
  readonly topic: string;
  readonly observer: LogObserver;
  readonly store: Pick<PositionStore, "findPositions">;
  /** The consumer of this process; undefined where none runs. */
  readonly consumer: (() => ConsumerStatus) | undefined;
}

/** The steps of reading a status, in this order. */
export type StatusStep = "positions" | "log" | "ages";

/** Waits for a query until the time of its step is over; undefined when it fails. Never throws. */
export type Ask = <T>(what: string, query: Promise<T>, step: StatusStep) => Promise<T | undefined>;

type PartitionStatus = SyncStatus["partitions"][number];

/** Reads the status of a group in each partition of a Kafka topic. Never throws: what is unknown is null. */
export async function readPartitionStatuses(
  { group, topic, observer, store, consumer: running }: WatchedLog,
  ask: Ask,
): Promise<Pick<SyncStatus, "group" | "topic" | "consumer" | "partitions">> {
  const asked = ask("the group", observer.fetchOwners(), "log");
  // The log is read last: a position that moves past the end read before would look like one of another log.
  const positions = await ask("the positions", store.findPositions(group, topic), "positions");
  const consumer = running?.();
  const bounds = await ask("the log", observer.fetchBounds("led"), "log");
  const facts: Facts = { bounds, positions, owners: await asked, own: consumer?.partitions ?? [] };
  const now = Date.now();
  const firstSince = memoize((timestamp) => observer.findFirstSince(timestamp, "led"));

  const partitions = listPartitions(facts).map(async (partition) => {
    const lag = getLag(partition, facts);
    const since = async (timestamp: number): Promise<number> =>
      (await firstSince(timestamp)).get(partition) ?? 0;
    const secondsAt = async (what: string, offset: number | undefined) =>
      offset === undefined ? 0 : ask(what, getAgeSeconds(offset, since, now), "ages");
    const seen = bounds?.get(partition);
    return toPartitionStatus(partition, facts, {
      records: lag?.records,
      seconds: lag && (await secondsAt("the lag", lag.records === 0 ? undefined : lag.from)),
      openTransactionSeconds: seen && (await secondsAt("the open transaction", getBlockedOffset(seen))),
    });
  });
  return { group, topic, consumer: consumer?.state ?? "none", partitions: await Promise.all(partitions) };
}

/** Undefined values are unknown. */
interface Facts {
  readonly bounds: ReadonlyMap<number, ObservedBounds> | undefined;
  readonly positions: ReadonlyMap<number, Position> | undefined;
  readonly owners: ReadonlyMap<number, string> | undefined;
  readonly own: ConsumerStatus["partitions"];
}

/** A partition without a leader has no bounds, but may have an owner. */
function listPartitions({ bounds, positions, owners, own }: Facts): number[] {
  const known = [bounds ?? positions, owners].flatMap((map) => [...(map?.keys() ?? [])]);
  return [...new Set([...known, ...own.map(({ partition }) => partition)])].toSorted((a, b) => a - b);
}

const findOwnPartition = (partition: number, { own }: Facts) =>
  own.find((one) => one.partition === partition);

/** While MongoDB does not respond, the offsets that this process holds for its own partitions are used. */
const getCommittedOffset = (partition: number, facts: Facts): number | undefined =>
  facts.positions === undefined
    ? findOwnPartition(partition, facts)?.offset
    : facts.positions.get(partition)?.offset;

function toPartitionStatus(
  partition: number,
  facts: Facts,
  found: {
    readonly records: number | undefined;
    readonly seconds: number | undefined;
    readonly openTransactionSeconds: number | undefined;
  },
): PartitionStatus {
  const { bounds, owners } = facts;
  const own = findOwnPartition(partition, facts);
  const owner = own === undefined ? owners?.get(partition) : "this process";
  return {
    partition,
    committedOffset: getCommittedOffset(partition, facts) ?? null,
    logStart: bounds?.get(partition)?.low ?? null,
    logEnd: bounds?.get(partition)?.high ?? null,
    lastStableOffset: bounds?.get(partition)?.stable ?? null,
    lagRecords: found.records ?? null,
    lagSeconds: found.seconds ?? null,
    openTransactionSeconds: found.openTransactionSeconds ?? null,
    assigned: own === undefined && owners === undefined ? null : owner !== undefined,
    owner: owner ?? null,
    state: own?.state ?? null,
    reason: own?.reason ?? null,
    cause: own?.cause ?? null,
  };
}

interface Lag {
  readonly records: number;
  /** The offset of the first record that is not applied. */
  readonly from: number;
}

function getLag(partition: number, facts: Facts): Lag | undefined {
  const bounds = facts.bounds?.get(partition);
  const committed = getCommittedOffset(partition, facts);
  if (bounds === undefined || (facts.positions === undefined && committed === undefined)) return undefined;
  const { low, high } = bounds;
  // A position outside the log is read from the log's beginning.
  const from = committed === undefined || committed < low || committed > high ? low : committed;
  return { records: high - from, from };
}

/** The first record of the oldest open transaction, which blocks all later ones. */
const getBlockedOffset = ({ stable, high }: ObservedBounds): number | undefined =>
  stable < high ? stable : undefined;

const getAgeSeconds = async (
  offset: number,
  firstSince: (timestamp: number) => Promise<number>,
  now: number,
): Promise<number> => Math.round((await getAgeAt(offset, firstSince, now)) / 100) / 10;

/** One result covers all partitions, so each timestamp is queried once. */
function memoize<T>(query: (timestamp: number) => Promise<T>): (timestamp: number) => Promise<T> {
  const results = new Map<number, Promise<T>>();
  return (timestamp) => {
    const result = results.get(timestamp) ?? query(timestamp);
    results.set(timestamp, result);
    return result;
  };
}
