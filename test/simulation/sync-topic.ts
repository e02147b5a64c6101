/** The announcements topic of the sync's world: what producers send, and what happens to its logs. */
import type { Clock, Host } from "./clock.ts";
import type { Cluster, NewRecord } from "./cluster/cluster.ts";
import type { PartitionLog } from "./cluster/log.ts";
import type { Partition } from "./cluster/topics.ts";
import type { SentRecord, TopicAction } from "./sync-steps.ts";
import { startOfTime } from "./world.ts";

export interface SyncTopicOptions {
  readonly clock: Clock;
  readonly cluster: Cluster;
  /** What creates the topic. */
  readonly host: Host;
  readonly name: string;
  readonly partitions: number;
  readonly maxPartitions: number;
  readonly hasTopicIds: boolean;
  /** Producers set timestamps as they like. */
  readonly hasOddTimestamps: boolean;
  /** The topic does not exist yet. */
  readonly isMissing: boolean;
  /** The positions from before topic ids count for any log: in one that comes later they may be anywhere. */
  readonly hasOldPositions: boolean;
}

/** The log of a partition, and the id of the topic that it belongs to. */
export interface IdentifiedLog {
  readonly log: PartitionLog;
  readonly topicId: string | undefined;
}

type Recreation = Extract<TopicAction, { readonly do: "recreate" }>;

export type SyncTopic = ReturnType<typeof createSyncTopic>;

export function createSyncTopic(options: SyncTopicOptions) {
  const { clock, cluster, host, name, maxPartitions, hasTopicIds, hasOddTimestamps, hasOldPositions } =
    options;
  let count = options.partitions;
  let lastTimestamp = startOfTime;
  const topicIds = new Map<PartitionLog, string>();
  let wasDeleted = false;
  /** Logs that lost their end, with their partitions. */
  const cutLogs = new Map<PartitionLog, number>();

  const list = (): readonly Partition[] => cluster.topics.get(name)?.partitions ?? [];

  function remember(): void {
    const topic = cluster.topics.get(name);
    for (const { log, partition } of topic?.partitions ?? []) {
      topicIds.set(log, topic?.id ?? "");
      if (hasOldPositions && wasDeleted) cutLogs.set(log, partition);
    }
  }

  function identify(log: PartitionLog): IdentifiedLog {
    // The product may have created the topic.
    if (!topicIds.has(log)) remember();
    return { log, topicId: hasTopicIds ? topicIds.get(log) : undefined };
  }

  function create(firstLeader = 0): void {
    if (!cluster.topics.has(name)) cluster.registry.create({ name, partitions: count, firstLeader });
    remember();
  }

  function recreate({ ms, isFilledAgain, ...action }: Recreation): void {
    const { partitions = count, firstLeader, unnoticedMs = 0 } = action;
    remember();
    const former = list();
    if (unnoticedMs > 0) for (const { leader } of former) if (leader >= 0) cluster.lag(leader, unnoticedMs);
    cluster.deleteTopic(name);
    wasDeleted = true;
    count = Math.min(partitions, maxPartitions);
    clock.schedule(host, ms, () => {
      create(firstLeader);
      if (isFilledAgain === true)
        for (const partition of list())
          cluster.produce(partition, former[partition.partition]?.log.readAll() ?? []);
    });
  }

  function grow(): void {
    if (list().length === 0 || list().length >= maxPartitions) return;
    count = list().length + 1;
    cluster.registry.grow(name, count);
    remember();
  }

  function loseEnd(partition: Partition, share: number): void {
    cutLogs.set(partition.log, partition.partition);
    cluster.cut(partition, findOffset(partition.log, share));
  }

  /** Timestamps grow, unless they are odd. */
  function getTimestamp(skewMs: number): number {
    lastTimestamp = Math.max(lastTimestamp + 1, startOfTime + Math.floor(clock.getTime()));
    return hasOddTimestamps ? lastTimestamp + skewMs : lastTimestamp;
  }

  /** Sends records, and removes some of them before they can be read. */
  function sendAndRemove(partition: Partition, last: NewRecord, byAge: boolean): void {
    const tombstone: NewRecord = { ...last, key: Buffer.from("no topic") };
    cluster.produce(partition, [last, last, tombstone, tombstone, last]);
    if (byAge) partition.log.truncate(partition.log.end - 1);
    else partition.log.compact(lastTimestamp - 1_000);
  }

  if (!options.isMissing) create();

  return {
    list,
    create,
    identify,
    /** The log that is there now; undefined while there is none. */
    getLog: (partition: number): IdentifiedLog | undefined => {
      const found = list()[partition];
      return found && identify(found.log);
    },
    isCut: (log: PartitionLog): boolean => cutLogs.has(identify(log).log),
    /** Whether the log that a topic has, or had, in a partition lost its end. */
    wasCut: (number: number, topicId: string | undefined): boolean =>
      [...cutLogs].some(([log, partition]) => partition === number && topicIds.get(log) === topicId),
    /** Whether a position may be after the end of its log. */
    hasCuts: (): boolean => cutLogs.size > 0 || (hasOldPositions && wasDeleted),
    /** A partition that a step means; undefined while the topic is deleted. */
    find: (partition: number): Partition | undefined => list()[partition % Math.max(1, list().length)],

    act(action: TopicAction): void {
      const partition = list()[("partition" in action ? action.partition : 0) % Math.max(1, list().length)];
      if (partition === undefined) return;
      const { log } = partition;
      switch (action.do) {
        case "produce":
          cluster.produce(
            partition,
            action.records.map((record) =>
              toRecord(record, partition.partition, maxPartitions, getTimestamp(record.skewMs)),
            ),
            action.transaction === "none" ? undefined : action.transaction,
          );
          break;
        case "end transaction":
          cluster.endTransaction(partition, action.commit, (lastTimestamp += 1));
          break;
        case "compact":
          log.compact(lastTimestamp - 1_000);
          break;
        case "truncate":
          log.truncate(findOffset(log, action.share));
          break;
        case "lose end":
          if (!hasTopicIds) break;
          loseEnd(partition, action.share);
          break;
        case "lose ends":
          if (!hasTopicIds) break;
          for (const one of list()) loseEnd(one, action.share);
          break;
        case "recreate":
          if (hasTopicIds) recreate(action);
          break;
        case "grow":
          grow();
          break;
        case "move leader":
          cluster.moveLeader(name, partition.partition, action.to, action.unnoticedMs);
          break;
        case "move leaders":
          for (const one of list()) cluster.moveLeader(name, one.partition, action.to, action.unnoticedMs);
          break;
        case "old bounds":
          if (hasTopicIds) cluster.showOldBounds();
          break;
      }
    },

    /** Ends what producers have open, and sends nothing more. */
    settle(): void {
      for (const partition of list()) cluster.endTransaction(partition, true, (lastTimestamp += 1));
    },

    /** Sends a last record to each partition, and with `chance` something that is not delivered. */
    finish(isChosen: (probability: number) => boolean): void {
      for (const partition of list()) {
        cluster.endTransaction(partition, true, (lastTimestamp += 1));
        const timestamp = Math.max(lastTimestamp, startOfTime + Math.floor(clock.getTime())) + 200_000;
        const last: NewRecord = { timestamp, key: null, value: null, headers: [] };
        cluster.produce(partition, [last]);
        if (isChosen(0.3)) sendAndRemove(partition, last, isChosen(0.5));
        // What is not delivered moves the position, too.
        if (!isChosen(0.3)) continue;
        cluster.produce(partition, [last], "abort");
        if (isChosen(0.5)) partition.log.compact(lastTimestamp - 1_000);
      }
    },
  };
}

export const findOffset = ({ low, end }: PartitionLog, share: number): number =>
  Math.floor(low + (end - low) * share);

export const formatId = (id: number): string => `topic-${id}`;

/** Variants overlap: several topics want one combination. */
export const toDefinition = (id: number, variant: number) => ({
  externalId: formatId(id),
  name: `name ${(id + variant) % 6}`,
  namespace: "",
  headerQuery: variant === 4 ? "a=1" : "",
  contentQuery: "",
});

/** The record of a topic goes to one partition, as its key decides. */
function toRecord(
  { id, kind, variant }: SentRecord,
  partition: number,
  partitions: number,
  timestamp: number,
): NewRecord {
  const own = Math.floor(id / partitions) * partitions + partition;
  const headers: NewRecord["headers"] = variant === 3 ? [["origin", Buffer.from([own, 255, 0])]] : [];
  const create = (key: string | null, value: string | null): NewRecord => ({
    timestamp,
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers,
  });
  switch (kind) {
    case "define":
      return create(formatId(own), JSON.stringify(toDefinition(own, variant)));
    case "retire":
      return create(formatId(own), null);
    case "malformed":
      return create(formatId(own), "no JSON");
    case "keyless tombstone":
      return create(null, null);
  }
}
