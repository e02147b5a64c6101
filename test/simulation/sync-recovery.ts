/** How far the sync is behind, and the faults that last while it has to catch up. */
import { collections } from "../../src/storage/names.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { Partition } from "./cluster/topics.ts";
import type { Document } from "./mongo/documents.ts";
import type { Random } from "./random.ts";
import type { IdentifiedLog, SyncTopic } from "./sync-topic.ts";

/** Once faults stop, the sync must have caught up within this time: the lifetime of a transaction, and some retries. */
export const recoveryMs = 180_000;

export const lastingFaults = [
  "nothing",
  "nothing",
  "denied topic",
  "topic without a leader",
  "broker down",
] as const;
export type LastingFault = (typeof lastingFaults)[number];

export interface LagOptions {
  readonly topic: SyncTopic;
  readonly readAll: (collection: string) => readonly Document[];
  /** Whether the position of a partition is in a log. */
  readonly isInLog: (partition: number, log: IdentifiedLog) => boolean;
}

/** Describes the partitions that have not been read to their ends. */
export function findLag({ topic, readAll, isInLog }: LagOptions): readonly string[] {
  const offsets = new Map(
    readAll(collections.positions).map((record) => [
      (record["_id"] as { readonly partition: number }).partition,
      record["next_offset"] as number | undefined,
    ]),
  );
  const isBehind = ({ partition, log }: Partition): boolean => {
    // A position is first stored with a record.
    if (offsets.get(partition) === undefined && log.low === log.end) return false;
    const offset = offsets.get(partition) ?? 0;
    return offset !== log.end || !isInLog(partition, topic.identify(log));
  };
  return topic
    .list()
    .filter(isBehind)
    .map(
      ({ partition, log }) =>
        `partition ${partition} is at ${offsets.get(partition) ?? "no position"} of ${log.end}`,
    );
}

/** One fault that lasts must not keep the sync from the end of the log. */
export function inflictLasting(
  fault: LastingFault,
  {
    cluster,
    others,
    random,
  }: { readonly cluster: Cluster; readonly others: string; readonly random: Random },
): void {
  const [partition] = cluster.topics.get(others)?.partitions ?? [];
  if (fault === "denied topic") cluster.denied.add(others);
  if (fault === "topic without a leader" && partition !== undefined)
    cluster.registry.moveLeader(partition, -1);
  if (fault === "broker down") cluster.crash(random.between(0, 2), { ms: 2 * recoveryMs, failOverMs: 100 });
}
