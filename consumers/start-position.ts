import { KafkaUnavailableError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { now } from "@topicsync/lib/platform";
import {
  isSamePosition,
  type ClaimedPosition,
  type LogStore,
  type Position,
  type LogBounds,
  type LogWatch,
  type Partition,
  type PartitionLog,
} from "@topicsync/kafka";
import { isOtherLog } from "./clusters.ts";
import type { BatchHandler } from "./batch.ts";
import type { Reading } from "./reader-types.ts";

/** Where reading starts. */
export interface Start {
  readonly position: Position;
  /** Why it is not the stored position. */
  readonly warning?: string;
  /** Records before the position that Kafka had acknowledged, and lost. */
  readonly lost?: { readonly from: number; readonly to: number };
}

/** Whether the position must be stored before the first batch moves it. */
export const isStoredAtOnce = (
  { position: { clusterId }, warning, lost }: Start,
  stored: Position | undefined,
): boolean => {
  // The settings may lead to a wrong cluster, where nobody has written: they can still be corrected.
  if (stored?.clusterId !== undefined && clusterId !== undefined && stored.clusterId !== clusterId)
    return false;
  // When the log has grown to the old position, nothing shows that it was wrong.
  return warning !== undefined || lost !== undefined;
};

/**
 * Where to start, given the stored position and the log that is there: at the position, as far as it belongs
 * to this log and the log has it. `epoch` is that of the log; undefined where brokers have no topic ids.
 * Throws UnavailableError.
 */
export function findStart(
  stored: Position | undefined,
  { low, high, topicId, clusterId }: PartitionLog,
  epoch: number | undefined,
): Start {
  const cluster = clusterId === null ? {} : { clusterId };
  if (stored === undefined) return { position: { offset: low, epoch: epoch ?? 1, topicId, ...cluster } };
  if (isOtherLog(stored, topicId)) {
    // Never the other way round: what a broker serves that lags was read before, or is gone.
    if ((epoch ?? 0) <= stored.epoch)
      throw new KafkaUnavailableError(
        `the broker serves a log that was replaced (topic id ${topicId ?? ""})`,
      );
    return startNewLog({ offset: low, epoch: epoch ?? 1, topicId, ...cluster });
  }
  const position: Position = {
    offset: stored.offset,
    epoch: Math.max(epoch ?? 0, stored.epoch),
    topicId: topicId ?? stored.topicId,
    ...(stored.clusterId !== undefined && { clusterId: stored.clusterId }),
    ...cluster,
  };
  if (stored.offset > high && topicId === undefined)
    return startNewLog({ offset: low, epoch: stored.epoch + 1, ...cluster });
  if (stored.offset > high)
    return { position: { ...position, offset: high }, lost: { from: high, to: stored.offset - 1 } };
  if (stored.offset < low) {
    return {
      position: { ...position, offset: low },
      warning: "stored offset out of range: records were deleted before they were read",
    };
  }
  return { position };
}

/**
 * An offset that a person has set counts for the log that is there, if it was set for that: Kafka forgets it
 * with its topic. Throws UnavailableError.
 */
export async function requireSameTopic(
  claimed: Position | undefined,
  { keepsPositionInKafka, findPosition }: Pick<BatchHandler, "keepsPositionInKafka" | "findPosition">,
): Promise<void> {
  if (claimed === undefined || claimed.topicId !== undefined || keepsPositionInKafka !== true) return;
  if (!isSamePosition(claimed, await findPosition()))
    throw new KafkaUnavailableError("the position was changed while the log was looked up");
}

const startNewLog = (position: Position): Start => ({
  position,
  warning: "the log is a new one: the Kafka topic was deleted and created again; reading from the beginning",
});

/**
 * Finds the epoch of the log that is there, and allots one if it is new; undefined where brokers have no
 * topic ids. Throws UnavailableError.
 */
export async function identifyLog(
  partition: Partition,
  stored: Position | undefined,
  log: PartitionLog,
  { watch, logs }: { readonly watch: LogWatch; readonly logs: LogStore },
): Promise<number | undefined> {
  const { topicId, clusterId, partitions } = log;
  const epoch = topicId === undefined ? undefined : await logs.findEpoch(partition, topicId);
  const isOther = stored !== undefined && isOtherLog(stored, topicId);
  const isCut = stored !== undefined && !isOther && stored.offset > log.high;
  const isKnown = topicId === undefined || epoch !== undefined;
  if (isKnown && stored !== undefined && !isCut) return epoch;
  // Nothing tells an older log from a newer one. Kafka also forgets a group's offsets with their topic,
  // before a slow leader does.
  await watch.confirmLog(partition.partition, log);
  if (topicId === undefined || (epoch !== undefined && !isCut)) return epoch;
  // What is written where records were lost must not be taken for them.
  const lowest = stored === undefined ? 1 : stored.epoch + (isOther || isCut ? 1 : 0);
  return logs.beginEpoch(partition, { topicId, clusterId, partitions }, lowest);
}

/** Logs why reading does not start at the stored position, if it does not. */
export function logStart(
  { warning, lost }: Start,
  {
    claimed,
    bounds: { low, high },
    log,
  }: { readonly claimed: Position | undefined; readonly bounds: LogBounds; readonly log: Logger },
): void {
  const details = { position: claimed?.offset, logStart: low, logEnd: high };
  if (warning !== undefined) log.warn(details, warning);
  if (lost !== undefined)
    log.error(
      { ...details, lostFrom: lost.from, lostTo: lost.to },
      "kafka lost records before the stored offset; reading continues at the end of the log",
    );
}

/**
 * Warns when a compacted log continues after a position that is older than the time for which tombstones
 * stay: topics may have been retired by tombstones that are gone. Throws UnavailableError.
 */
export async function warnAboutLongAbsence(
  claimed: ClaimedPosition | undefined,
  { high }: LogBounds,
  { watch, log }: { readonly watch: LogWatch; readonly log: Logger },
): Promise<void> {
  if (claimed?.movedOn === undefined || claimed.offset >= high) return;
  const retentionMs = await watch.fetchTombstoneRetentionMs();
  if (retentionMs === undefined || now() - claimed.movedOn.getTime() <= retentionMs) return;
  log.warn(
    { position: claimed.offset, movedOn: claimed.movedOn, "delete.retention.ms": retentionMs },
    "stored position older than delete.retention.ms: topics that were retired since then may stay",
  );
}

/** Without topic ids, a cluster that took the place of another may have as many records. */
export const isReplaced = ({ topicId, next }: Reading, log: PartitionLog): boolean =>
  log.topicId !== topicId ||
  log.high < next.offset ||
  (next.clusterId !== undefined && log.clusterId !== null && next.clusterId !== log.clusterId);
