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

export class SyncTopic {
  readonly #options: SyncTopicOptions;
  #count: number;
  #lastTimestamp = startOfTime;
  readonly #topicIds = new Map<PartitionLog, string>();
  #wasDeleted = false;
  /** Logs that lost their end, with their partitions. */
  readonly #cutLogs = new Map<PartitionLog, number>();

  constructor(options: SyncTopicOptions) {
    this.#options = options;
    this.#count = options.partitions;

    if (!options.isMissing) this.create();
  }

  list(): readonly Partition[] {
    return this.#options.cluster.topics.get(this.#options.name)?.partitions ?? [];
  }

  identify(log: PartitionLog): IdentifiedLog {
    // The product may have created the topic.
    if (!this.#topicIds.has(log)) this.#remember();
    return { log, topicId: this.#options.hasTopicIds ? this.#topicIds.get(log) : undefined };
  }

  create(firstLeader = 0): void {
    if (!this.#options.cluster.topics.has(this.#options.name))
      this.#options.cluster.registry.create({
        name: this.#options.name,
        partitions: this.#count,
        firstLeader,
      });
    this.#remember();
  }

  /** The log that is there now; undefined while there is none. */
  getLog(partition: number): IdentifiedLog | undefined {
    const found = this.list()[partition];
    return found && this.identify(found.log);
  }

  isCut(log: PartitionLog): boolean {
    return this.#cutLogs.has(this.identify(log).log);
  }

  /** Whether the log that a topic has, or had, in a partition lost its end. */
  wasCut(number: number, topicId: string | undefined): boolean {
    return [...this.#cutLogs].some(
      ([log, partition]) => partition === number && this.#topicIds.get(log) === topicId,
    );
  }

  /** Whether a position may be after the end of its log. */
  hasCuts(): boolean {
    return this.#cutLogs.size > 0 || (this.#options.hasOldPositions && this.#wasDeleted);
  }

  /** A partition that a step means; undefined while the topic is deleted. */
  find(partition: number): Partition | undefined {
    return this.list()[partition % Math.max(1, this.list().length)];
  }

  act(action: TopicAction): void {
    const partition =
      this.list()[("partition" in action ? action.partition : 0) % Math.max(1, this.list().length)];
    if (partition === undefined) return;
    const { log } = partition;
    switch (action.do) {
      case "produce":
        this.#options.cluster.produce(
          partition,
          action.records.map((record) =>
            toRecord(
              record,
              partition.partition,
              this.#options.maxPartitions,
              this.#getTimestamp(record.skewMs),
            ),
          ),
          action.transaction === "none" ? undefined : action.transaction,
        );
        break;
      case "end transaction":
        this.#options.cluster.endTransaction(partition, action.commit, (this.#lastTimestamp += 1));
        break;
      case "compact":
        log.compact(this.#lastTimestamp - 1_000);
        break;
      case "truncate":
        log.truncate(findOffset(log, action.share));
        break;
      case "lose end":
        if (!this.#options.hasTopicIds) break;
        this.#loseEnd(partition, action.share);
        break;
      case "lose ends":
        if (!this.#options.hasTopicIds) break;
        for (const one of this.list()) this.#loseEnd(one, action.share);
        break;
      case "recreate":
        if (this.#options.hasTopicIds) this.#recreate(action);
        break;
      case "grow":
        this.#grow();
        break;
      case "move leader":
        this.#options.cluster.moveLeader(
          this.#options.name,
          partition.partition,
          action.to,
          action.unnoticedMs,
        );
        break;
      case "move leaders":
        for (const one of this.list())
          this.#options.cluster.moveLeader(this.#options.name, one.partition, action.to, action.unnoticedMs);
        break;
      case "old bounds":
        if (this.#options.hasTopicIds) this.#options.cluster.showOldBounds();
        break;
    }
  }

  /** Ends what producers have open, and sends nothing more. */
  settle(): void {
    for (const partition of this.list())
      this.#options.cluster.endTransaction(partition, true, (this.#lastTimestamp += 1));
  }

  /** Sends a last record to each partition, and with `chance` something that is not delivered. */
  finish(isChosen: (probability: number) => boolean): void {
    for (const partition of this.list()) {
      this.#options.cluster.endTransaction(partition, true, (this.#lastTimestamp += 1));
      const timestamp =
        Math.max(this.#lastTimestamp, startOfTime + Math.floor(this.#options.clock.getTime())) + 200_000;
      const last: NewRecord = { timestamp, key: null, value: null, headers: [] };
      this.#options.cluster.produce(partition, [last]);
      if (isChosen(0.3)) this.#sendAndRemove(partition, last, isChosen(0.5));
      // What is not delivered moves the position, too.
      if (!isChosen(0.3)) continue;
      this.#options.cluster.produce(partition, [last], "abort");
      if (isChosen(0.5)) partition.log.compact(this.#lastTimestamp - 1_000);
    }
  }

  #remember(): void {
    const topic = this.#options.cluster.topics.get(this.#options.name);
    for (const { log, partition } of topic?.partitions ?? []) {
      this.#topicIds.set(log, topic?.id ?? "");
      if (this.#options.hasOldPositions && this.#wasDeleted) this.#cutLogs.set(log, partition);
    }
  }

  #recreate({ ms, isFilledAgain, ...action }: Recreation): void {
    const { partitions = this.#count, firstLeader, unnoticedMs = 0 } = action;
    this.#remember();
    const former = this.list();
    if (unnoticedMs > 0)
      for (const { leader } of former) if (leader >= 0) this.#options.cluster.lag(leader, unnoticedMs);
    this.#options.cluster.deleteTopic(this.#options.name);
    this.#wasDeleted = true;
    this.#count = Math.min(partitions, this.#options.maxPartitions);
    this.#options.clock.schedule(this.#options.host, ms, () => {
      this.create(firstLeader);
      if (isFilledAgain === true)
        for (const partition of this.list())
          this.#options.cluster.produce(partition, former[partition.partition]?.log.readAll() ?? []);
    });
  }

  #grow(): void {
    if (this.list().length === 0 || this.list().length >= this.#options.maxPartitions) return;
    this.#count = this.list().length + 1;
    this.#options.cluster.registry.grow(this.#options.name, this.#count);
    this.#remember();
  }

  #loseEnd(partition: Partition, share: number): void {
    this.#cutLogs.set(partition.log, partition.partition);
    this.#options.cluster.cut(partition, findOffset(partition.log, share));
  }

  /** Timestamps grow, unless they are odd. */
  #getTimestamp(skewMs: number): number {
    this.#lastTimestamp = Math.max(
      this.#lastTimestamp + 1,
      startOfTime + Math.floor(this.#options.clock.getTime()),
    );
    return this.#options.hasOddTimestamps ? this.#lastTimestamp + skewMs : this.#lastTimestamp;
  }

  /** Sends records, and removes some of them before they can be read. */
  #sendAndRemove(partition: Partition, last: NewRecord, byAge: boolean): void {
    const tombstone: NewRecord = { ...last, key: Buffer.from("no topic") };
    this.#options.cluster.produce(partition, [last, last, tombstone, tombstone, last]);
    if (byAge) partition.log.truncate(partition.log.end - 1);
    else partition.log.compact(this.#lastTimestamp - 1_000);
  }
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
