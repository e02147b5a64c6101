import type { LogStore, Position, Partition, PartitionLog } from "@topicsync/kafka";

/**
 * The stored position belongs to a log of another Kafka cluster, with other offsets. A person has to decide
 * where reading goes on.
 */
export class OtherClusterError extends Error {
  override readonly name = "OtherClusterError";
}

/** What is compared: the position that is stored, and the log that is there. */
interface Compared {
  readonly partition: Partition;
  readonly stored: Position | undefined;
  readonly log: PartitionLog;
  /** The position is stored in the cluster itself, so that another cluster has none. */
  readonly isInKafka: boolean;
}

/** A position without a topic id was set by a person, or where brokers have none: it counts for any log. */
export const isOtherLog = (stored: Position, topicId: string | undefined): boolean =>
  stored.topicId !== undefined && topicId !== undefined && stored.topicId !== topicId;

/**
 * Finds the cluster to which the position belongs if that is not the cluster of the log. Undefined also where
 * nothing can be read twice or be skipped: the topic id is the same, so the cluster was only renamed; the log
 * never had a record; reading it has begun, and Kafka has lost the offset; or nothing was read before.
 * Brokers that tell no cluster cannot be compared.
 */
export async function findOtherCluster(
  { partition: { topic, partition }, stored, log, isInKafka }: Compared,
  logs: Pick<LogStore, "findLogs">,
): Promise<string | undefined> {
  const { topicId, clusterId, high } = log;
  if (clusterId === null || high === 0) return undefined;
  if (stored === undefined) {
    const known = isInKafka ? await logs.findLogs(topic) : [];
    // Other partitions may have been empty, or decided, before.
    if (known.some((one) => one.clusterId === clusterId && one.hasBegun(partition))) return undefined;
    return known.findLast((one) => one.clusterId !== clusterId)?.clusterId;
  }
  if (topicId !== undefined && stored.topicId === topicId) return undefined;
  return stored.clusterId === clusterId ? undefined : stored.clusterId;
}

/** Throws OtherClusterError. `consumer` is what `topicsync positions` calls the reader. */
export async function requireSameCluster(
  compared: Compared,
  { logs, consumer }: { readonly logs: Pick<LogStore, "findLogs">; readonly consumer: string },
): Promise<void> {
  const other = await findOtherCluster(compared, logs);
  if (other === undefined) return;
  throw new OtherClusterError(
    `this Kafka topic was read in the cluster ${other}, and KAFKA_BROKERS leads to ${compared.log.clusterId ?? ""}: ` +
      `correct KAFKA_BROKERS, or choose where reading goes on with "topicsync positions set ${consumer}"`,
  );
}
