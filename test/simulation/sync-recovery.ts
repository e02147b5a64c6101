/** How far the sync is behind. */
import { collections } from "../../src/storage/names.ts";
import type { Document, Partition } from "../simulated-servers/index.ts";
import type { IdentifiedLog, SyncTopic } from "./sync-topic.ts";

export interface LagOptions {
  readonly topic: SyncTopic;
  readonly readAll: (collection: string) => readonly Document[];
  /** Whether the position of a partition is in a log. */
  readonly isInLog: (partition: number, log: IdentifiedLog) => boolean;
}

/** Describes the partitions that have not been read to their ends. */
export function findLag({ topic, readAll, isInLog }: LagOptions): readonly string[] {
  const records = new Map(
    readAll(collections.positions).map((record) => [
      (record["_id"] as { readonly partition: number }).partition,
      record,
    ]),
  );
  const getOffset = (partition: number) => records.get(partition)?.["next_offset"] as number | undefined;
  const isBehind = ({ partition, log }: Partition): boolean => {
    // A position is first stored with a record.
    if (getOffset(partition) === undefined && log.low === log.end) return false;
    const topicId = records.get(partition)?.["kafka_topic_id"] as string | undefined;
    // Nothing was written to another cluster yet: the position stays, because the settings may be wrong.
    if (log.end === 0 && topic.isOfOtherCluster(topicId, topic.identify(log))) return false;
    return (getOffset(partition) ?? 0) !== log.end || !isInLog(partition, topic.identify(log));
  };
  return topic
    .list()
    .filter(isBehind)
    .map(
      ({ partition, log }) =>
        `partition ${partition} is at ${getOffset(partition) ?? "no position"} of ${log.end}`,
    );
}
