/** The announcements topic of the sync's world: what producers send, and what happens to its logs. */
import {
  startOfTime,
  type Host,
  type NewRecord,
  type Partition,
  type PartitionLog,
} from "../simulated-servers/index.ts";
import { findOffset, InputTopic, type InputTopicOptions } from "./input-topic.ts";
import type { SentRecord } from "./sync-sending.ts";
import type { TopicAction } from "./sync-steps.ts";

export interface SyncTopicOptions extends InputTopicOptions {
  /** What creates the topic. */
  readonly host: Host;
  readonly partitions: number;
  readonly maxPartitions: number;
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

export class SyncTopic extends InputTopic {
  readonly #options: SyncTopicOptions;
  /** With how many partitions the topic is created. */
  #count: number;
  readonly #topicIds = new Map<PartitionLog, string>();
  /** The cluster of each topic id. */
  readonly #clusters = new Map<string, string>();
  /** The topics that had records when their cluster took the place of another. */
  readonly #mirrors = new Set<string>();
  #hasMoved = false;
  #wasDeleted = false;
  /** Logs that lost their end, with their partitions. */
  readonly #cutLogs = new Map<PartitionLog, number>();

  constructor(options: SyncTopicOptions) {
    super(options);
    this.#options = options;
    this.#count = options.partitions;
    if (!options.isMissing) this.create();
  }

  create(firstLeader = 0): void {
    const { cluster, name } = this.#options;
    if (!cluster.topics.has(name)) cluster.registry.create({ name, partitions: this.#count, firstLeader });
    this.#remember();
  }

  identify(log: PartitionLog): IdentifiedLog {
    // The product may have created the topic.
    if (!this.#topicIds.has(log)) this.#remember();
    return { log, topicId: this.#options.hasTopicIds ? this.#topicIds.get(log) : undefined };
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

  /** Whether only a person can say where in the second topic reading goes on after the first one. */
  needsDecision(from: string | undefined, to: string | undefined, partition: number): boolean {
    if (from === undefined || to === undefined || from === to) return false;
    const isOtherCluster = this.#clusters.get(from) !== this.#clusters.get(to);
    return isOtherCluster && this.#mirrors.has(`${to}/${partition}`);
  }

  /** Whether a topic is that of another cluster than a log. */
  isOfOtherCluster(from: string | undefined, { topicId = "" }: IdentifiedLog): boolean {
    return from !== undefined && this.#clusters.get(from) !== this.#clusters.get(topicId);
  }

  /** Whether another cluster has ever taken the place of the brokers. */
  hasMoved(): boolean {
    return this.#hasMoved;
  }

  /** Whether a position may be after the end of its log. */
  hasCuts(): boolean {
    return this.#cutLogs.size > 0 || (this.#options.hasOldPositions && this.#wasDeleted);
  }

  act(action: TopicAction): void {
    const found = this.find("partition" in action ? action.partition : 0);
    if (found === undefined) return;
    const { cluster, name, hasTopicIds, maxPartitions } = this.#options;
    const { partition, log } = found;
    switch (action.do) {
      case "produce":
        this.produce(found, action.records, {
          toRecord: (record, timestamp) => toRecord(record, partition, maxPartitions, timestamp),
          sentIn: action.transaction,
        });
        break;
      case "compact":
        log.compact(this.lastTimestamp - 1_000);
        break;
      case "lose end":
        if (hasTopicIds) this.#loseEnd(found, action.share);
        break;
      case "lose ends":
        if (hasTopicIds) for (const one of this.list()) this.#loseEnd(one, action.share);
        break;
      case "recreate":
        if (hasTopicIds) this.#recreate(action);
        break;
      case "grow":
        this.#grow();
        break;
      case "move house":
        if (hasTopicIds) this.#moveHouse(action);
        break;
      case "move leader":
        cluster.moveLeader(name, partition, action.to, action.unnoticedMs);
        break;
      case "move leaders":
        for (const one of this.list()) cluster.moveLeader(name, one.partition, action.to, action.unnoticedMs);
        break;
      default:
        this.change(found, action);
    }
  }

  /**
   * Ends what is open, and sends a last record to each partition, and with `isChosen` something that is not
   * delivered.
   */
  finish(isChosen: (probability: number) => boolean): void {
    const { clock, cluster } = this.#options;
    for (const partition of this.list()) {
      cluster.endTransaction(partition, true, (this.lastTimestamp += 1));
      const now = startOfTime + Math.floor(clock.getTime());
      const timestamp = Math.max(this.lastTimestamp, now) + 200_000;
      const last: NewRecord = { timestamp, key: null, value: null, headers: [] };
      cluster.produce(partition, [last]);
      if (isChosen(0.3)) this.#sendAndRemove(partition, last, isChosen(0.5));
      // What is not delivered moves the position, too.
      if (!isChosen(0.3)) continue;
      cluster.produce(partition, [last], "abort");
      if (isChosen(0.5)) partition.log.compact(this.lastTimestamp - 1_000);
    }
  }

  #remember(): void {
    const topic = this.#options.cluster.topics.get(this.#options.name);
    for (const { log, partition } of topic?.partitions ?? []) {
      this.#topicIds.set(log, topic?.id ?? "");
      this.#clusters.set(
        topic?.id ?? "",
        this.#clusters.get(topic?.id ?? "") ?? this.#options.cluster.clusterId,
      );
      if (this.#options.hasOldPositions && this.#wasDeleted) this.#cutLogs.set(log, partition);
    }
  }

  #recreate({ ms, isFilledAgain, ...action }: Recreation): void {
    const { clock, cluster, host, name, maxPartitions } = this.#options;
    const { partitions = this.#count, firstLeader, unnoticedMs = 0 } = action;
    this.#remember();
    const former = this.list();
    if (unnoticedMs > 0) for (const { leader } of former) if (leader >= 0) cluster.lag(leader, unnoticedMs);
    cluster.deleteTopic(name);
    this.#wasDeleted = true;
    this.#count = Math.min(partitions, maxPartitions);
    clock.schedule(host, ms, () => {
      this.create(firstLeader);
      if (isFilledAgain === true)
        for (const partition of this.list())
          cluster.produce(partition, former[partition.partition]?.log.readAll() ?? []);
    });
  }

  #moveHouse({ ms, share }: Extract<TopicAction, { readonly do: "move house" }>): void {
    const { clock, cluster, host, name } = this.#options;
    this.#remember();
    const former = this.list();
    cluster.deleteTopic(name);
    this.#wasDeleted = true;
    clock.schedule(host, ms, () => {
      // It was created in between: by the product, or by another step.
      if (cluster.topics.has(name)) return;
      cluster.clusterId = `${cluster.clusterId}'`;
      this.#hasMoved = true;
      this.create();
      for (const partition of this.list()) {
        const records = former[partition.partition]?.log.readAll() ?? [];
        const mirrored = records.slice(Math.floor(records.length * share * 0.5));
        if (mirrored.length === 0) continue;
        cluster.produce(partition, mirrored);
        this.#mirrors.add(`${this.identify(partition.log).topicId ?? ""}/${partition.partition}`);
      }
    });
  }

  #grow(): void {
    const { length } = this.list();
    if (length === 0 || length >= this.#options.maxPartitions) return;
    this.#count = length + 1;
    this.#options.cluster.registry.grow(this.#options.name, this.#count);
    this.#remember();
  }

  #loseEnd(partition: Partition, share: number): void {
    this.#cutLogs.set(partition.log, partition.partition);
    this.#options.cluster.cut(partition, findOffset(partition.log, share));
    // Nothing is left that could be applied twice.
    if (partition.log.end === 0)
      this.#mirrors.delete(`${this.identify(partition.log).topicId ?? ""}/${partition.partition}`);
  }

  /** Sends records, and removes some of them before they can be read. */
  #sendAndRemove(partition: Partition, last: NewRecord, byAge: boolean): void {
    const tombstone: NewRecord = { ...last, key: Buffer.from("no topic") };
    this.#options.cluster.produce(partition, [last, last, tombstone, tombstone, last]);
    if (byAge) partition.log.truncate(partition.log.end - 1);
    else partition.log.compact(this.lastTimestamp - 1_000);
  }
}

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
