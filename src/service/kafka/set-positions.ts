import { RejectionError, UnavailableError } from "@topicsync/lib/errors";
import type { LogStore, Position, LogObserver, LogWatch, PartitionLog } from "@topicsync/kafka";
import { findOtherCluster, isOtherLog } from "../../../consumers/clusters.ts";

/** A consumer group in a Kafka topic, whose positions a person looks at and sets. */
export interface PositionedConsumer {
  /** What commands call it. */
  readonly name: string;
  readonly group: string;
  readonly topic: string;
  /** The positions are stored in the Kafka cluster itself, so that another cluster has none. */
  readonly isInKafka: boolean;
  readonly watch: Pick<LogWatch, "fetchLog" | "confirmLog">;
  readonly observer: Pick<LogObserver, "fetchBounds" | "findFirstSince">;
  readonly logs: LogStore;
  readonly findPositions: () => Promise<ReadonlyMap<number, Position>>;
  /** Returns false if the position is not `from` any more. A running consumer is fenced. */
  readonly setPosition: (partition: number, from: Position | undefined, to: Position) => Promise<boolean>;
}

/** Where reading shall go on. `time` is in milliseconds since 1970. */
export type PositionTarget =
  | { readonly to: "offset"; readonly offset: number }
  | { readonly to: "time"; readonly time: number }
  | { readonly to: "beginning" }
  | { readonly to: "end" }
  /** The offset of the position, taken as one of the log that is there. */
  | { readonly to: "current" };

/** A position, and the log that is there. */
export interface FoundPosition {
  readonly partition: number;
  readonly position: Position | undefined;
  readonly log: PartitionLog;
  /** The cluster that the position belongs to, if that is another one and the consumer waits for a person. */
  readonly otherCluster: string | undefined;
}

export interface PositionChange extends FoundPosition {
  readonly offset: number;
  /** Undefined if the position belongs to another log: offsets of two logs cannot be compared. */
  readonly readAgain: number | undefined;
  readonly skipped: number | undefined;
}

/** More often than a busy consumer can move its position in between. */
const maxAttempts = 50;

/** Reads the positions of a consumer. Throws UnavailableError. */
export async function inspectPositions(
  consumer: PositionedConsumer,
  among?: ReadonlySet<number>,
): Promise<FoundPosition[]> {
  const partitions = [...(await consumer.observer.fetchBounds("all")).keys()].toSorted((a, b) => a - b);
  const unknown = [...(among ?? [])].filter((partition) => !partitions.includes(partition));
  if (unknown.length > 0)
    throw reject(`"${consumer.topic}" has no partition ${unknown.join(", ")}; it has ${partitions.length}`);
  const chosen = partitions.filter((partition) => among?.has(partition) ?? true);
  const positions = await consumer.findPositions();
  return Promise.all(
    chosen.map(async (partition) => {
      const position = positions.get(partition);
      const log = await consumer.watch.fetchLog(partition);
      const { topic, isInKafka, logs } = consumer;
      const otherCluster = await findOtherCluster(
        { partition: { topic, partition }, stored: position, log, isInKafka },
        logs,
      );
      return { partition, position, log, otherCluster };
    }),
  );
}

/**
 * Says what a target means for these positions. Throws a RejectionError for an offset that the log does not
 * have, UnavailableError.
 */
export async function planChanges(
  { observer }: PositionedConsumer,
  found: readonly FoundPosition[],
  target: PositionTarget,
): Promise<PositionChange[]> {
  const since = target.to === "time" ? await observer.findFirstSince(target.time, "all") : undefined;
  return found.flatMap((one) => {
    const { partition, position, log } = one;
    const offset =
      since === undefined ? findOffset(target, one) : clamp(since.get(partition) ?? log.high, log);
    if (offset === undefined) return [];
    if (offset < log.low || offset > log.high)
      throw reject(
        `offset ${offset} is not in the log of partition ${partition}, which has ${log.low} to ${log.high}`,
      );
    const isComparable = position !== undefined && isSameLog(one);
    return {
      ...one,
      offset,
      readAgain: isComparable ? Math.max(0, position.offset - offset) : undefined,
      skipped: isComparable ? Math.max(0, offset - position.offset) : undefined,
    };
  });
}

function findOffset(target: PositionTarget, { position, log }: FoundPosition): number | undefined {
  if (target.to === "offset") return target.offset;
  if (target.to === "beginning") return log.low;
  if (target.to === "end") return log.high;
  return position?.offset;
}

/** The log may have been found a moment after the offset. */
const clamp = (offset: number, { low, high }: PartitionLog): number => Math.min(high, Math.max(low, offset));

const reject = (message: string): RejectionError => new RejectionError("SCHEMA_VIOLATION", message);

/**
 * Whether the offsets of the position are those of the log. A position that a person set counts for any log.
 */
function isSameLog({ position, log: { topicId, clusterId, high }, otherCluster }: FoundPosition): boolean {
  if (position === undefined || otherCluster !== undefined || isOtherLog(position, topicId)) return false;
  const isOtherCluster =
    topicId === undefined && clusterId !== null && (position.clusterId ?? clusterId) !== clusterId;
  return !isOtherCluster && position.offset <= high;
}

/**
 * Sets a position, in an epoch in which no offset was used for another log. A consumer that is running reads
 * on from there. Returns the position that it replaced. Throws UnavailableError.
 */
export async function setPosition(
  consumer: PositionedConsumer,
  { partition, offset }: Pick<PositionChange, "partition" | "offset">,
): Promise<Position | undefined> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const [found] = await inspectPositions(consumer, new Set([partition]));
    if (found === undefined) throw new UnavailableError(`partition ${partition} cannot be found`);
    const { topicId, clusterId } = found.log;
    const epoch = await identifyLog(consumer, found);
    const to: Position = { offset, epoch, topicId, clusterId: clusterId ?? undefined };
    if (await consumer.setPosition(partition, found.position, to)) return found.position;
  }
  throw new UnavailableError(
    `the position of partition ${partition} was moved ${maxAttempts} times meanwhile`,
  );
}

/** Finds the epoch of the log that is there, after that of the position if it is another log. */
async function identifyLog(
  { topic, watch, logs }: PositionedConsumer,
  found: FoundPosition,
): Promise<number> {
  const { partition, position, log } = found;
  const { topicId, clusterId, partitions } = log;
  await watch.confirmLog(partition, log);
  const lowest = position === undefined ? 1 : position.epoch + (isSameLog(found) ? 0 : 1);
  return topicId === undefined
    ? lowest
    : logs.beginEpoch({ topic, partition }, { topicId, clusterId, partitions }, lowest);
}
