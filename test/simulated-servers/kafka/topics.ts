/** The topics of a cluster, as its controller knows them, and what each broker has heard of them. */
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import { Copy } from "./copies.ts";
import { PartitionLog } from "./log.ts";

export interface Partition {
  readonly topic: string;
  readonly partition: number;
  /** -1 while there is none. */
  leader: number;
  leaderEpoch: number;
  readonly log: PartitionLog;
  /** What the broker that does not lead it has of it; undefined when only one has it. */
  copy: Copy | undefined;
  /** The last leader, which may be away. */
  lastLeader: number;
  /**
   * A broker that has led it and does not know yet that another one does: it has nothing of what came later.
   */
  former: { readonly nodeId: number; readonly end: number; readonly stable: number } | undefined;
}

export interface Topic {
  readonly name: string;
  readonly id: string;
  readonly partitions: Partition[];
  maxBatchBytes: number;
  readonly settings: ReadonlyMap<string, string>;
}

export interface NewTopic {
  readonly name: string;
  readonly partitions: number;
  /** The broker that leads partition 0, if it is up. The others follow in turn. */
  readonly firstLeader?: number;
  /** False when only its leader has it; true by default. */
  readonly isCopied?: boolean;
  readonly maxBatchBytes?: number;
  readonly settings?: ReadonlyMap<string, string>;
}

/** What was true of the cluster at one moment. */
export interface Image {
  readonly version: number;
  readonly live: readonly number[];
  readonly topics: ReadonlyMap<string, ImagedTopic>;
}

interface ImagedTopic {
  readonly id: string;
  /** Its limits do not change. */
  readonly topic: Topic;
  readonly partitions: readonly {
    readonly partition: Partition;
    readonly leader: number;
    readonly leaderEpoch: number;
  }[];
}

/** A machine of the cluster. */
export interface BrokerNode {
  readonly nodeId: number;
  readonly host: Host;
  readonly name: string;
  readonly port: number;
  isUp: boolean;
  /** What it tells clients. */
  metadata: Image;
  /** Which logs it has. Never ahead of what it tells. */
  logs: Image;
  /** Until then it hears nothing new. */
  lagsUntil: number;
}

const emptyImage: Image = { version: 0, live: [], topics: new Map() };

export const createNode = (nodeId: number, host: Host): BrokerNode => ({
  nodeId,
  host,
  name: `broker-${nodeId}`,
  port: 9092,
  isUp: true,
  metadata: emptyImage,
  logs: emptyImage,
  lagsUntil: 0,
});

export interface TopicRegistryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly nodes: readonly BrokerNode[];
  /** Called after anything changed that requests wait for. */
  readonly onChanged: () => void;
}

const maxPublishDelayMs = 30;
/** A broker tells of a topic before it has its logs. */
const maxLogDelayMs = 60;

/** The topics, and when brokers learn of their changes. */
export class TopicRegistry {
  readonly #options: TopicRegistryOptions;
  readonly topics = new Map<string, Topic>();
  #lastVersion = 0;
  #nextLogId = 1;
  #nextTopicId = 1;

  constructor(options: TopicRegistryOptions) {
    this.#options = options;
  }

  /** Every broker hears of the present state some time later, and may miss what was before. */
  publish(): void {
    const image = this.#createImage();
    for (const node of this.#options.nodes) {
      const hear = (): void => {
        const waitMs = node.lagsUntil - this.#options.clock.getTime();
        if (waitMs > 0) this.#options.clock.schedule(node.host, waitMs, hear);
        else if (node.isUp) this.#learn(node, image);
      };
      if (this.#options.clock.getTime() === 0) this.#learn(node, image);
      else this.#options.clock.schedule(node.host, this.#options.random.between(0, maxPublishDelayMs), hear);
    }
    this.#options.onChanged();
  }

  create(options: NewTopic): Topic {
    const { name, partitions, isCopied = true, firstLeader = 0 } = options;
    const { maxBatchBytes = Infinity, settings = new Map() } = options;
    const id = Buffer.alloc(16);
    id.writeUInt32BE(this.#nextTopicId++, 12);
    const topic: Topic = {
      name,
      id: id.toString("base64url"),
      partitions: Array.from({ length: partitions }, (_, partition) =>
        this.#createPartition(name, partition, isCopied, firstLeader),
      ),
      maxBatchBytes,
      settings,
    };
    this.topics.set(name, topic);
    this.publish();
    return topic;
  }

  delete(name: string): void {
    if (this.topics.delete(name)) this.publish();
  }

  grow(name: string, count: number): void {
    const topic = this.topics.get(name);
    if (topic === undefined) return;
    const isCopied = topic.partitions[0]?.copy !== undefined;
    for (let partition = topic.partitions.length; partition < count; partition += 1)
      topic.partitions.push(this.#createPartition(name, partition, isCopied));
    this.publish();
  }

  addCopy(partition: Partition): void {
    partition.copy = this.#createCopy(partition.log);
  }

  moveLeader(partition: Partition, leader: number): void {
    if (partition.leader === leader) return;
    const { end, stable } = partition.log;
    partition.former = { nodeId: partition.leader, end, stable };
    this.#setLeader(partition, leader);
    partition.copy?.complete();
    this.publish();
  }

  /** A partition has no leader for some time, unless a broker becomes it before. */
  loseLeader(partition: Partition, ms: number): void {
    this.moveLeader(partition, -1);
    const { clock, nodes } = this.#options;
    clock.schedule(nodes[0]?.host ?? clock.getHost(), ms, () => {
      this.#giveLeader(partition);
    });
  }

  /** Gives every partition a leader. */
  giveLeaders(): void {
    for (const { partitions } of this.topics.values()) for (const one of partitions) this.#giveLeader(one);
  }

  #giveLeader(partition: Partition): void {
    const live = this.#getLive();
    const leader = live.includes(partition.lastLeader) ? partition.lastLeader : live[0];
    if (partition.leader < 0 && leader !== undefined) this.moveLeader(partition, leader);
  }

  /** Another broker that is up becomes the leader, if there is one. */
  elect(partition: Partition): void {
    this.#setLeader(partition, this.#getLive().find((id) => id !== partition.leader) ?? partition.leader);
    partition.copy?.complete();
    this.publish();
  }

  /** Gives the partitions that a failed broker led another leader, if another broker has a copy. */
  failOver(): void {
    const live = this.#getLive();
    for (const partition of [...this.topics.values()].flatMap(({ partitions }) => partitions)) {
      const { leader, lastLeader, copy } = partition;
      if (live.includes(leader)) continue;
      const next = (copy === undefined ? live.filter((id) => id === lastLeader) : live)[0] ?? -1;
      if (next !== leader) this.#setLeader(partition, next);
    }
    this.publish();
  }

  /** A broker dies. The copies of what it led are up to date. */
  leave(): void {
    for (const { copy } of [...this.topics.values()].flatMap(({ partitions }) => partitions)) copy?.leave();
  }

  /** A broker that starts knows the present state. Its copies have to catch up. */
  restart(node: BrokerNode): void {
    const image = this.#createImage();
    node.metadata = image;
    node.logs = image;
    for (const { leader, copy } of [...this.topics.values()].flatMap(({ partitions }) => partitions))
      if (leader === node.nodeId) copy?.complete();
      else copy?.comeBack();
  }

  #getLive(): number[] {
    return this.#options.nodes.filter(({ isUp }) => isUp).map(({ nodeId }) => nodeId);
  }

  #createCopy(log: PartitionLog): Copy {
    return new Copy(log, { clock: this.#options.clock, random: this.#options.random });
  }

  #createPartition(topic: string, partition: number, isCopied: boolean, firstLeader = 0): Partition {
    const leader = this.#getLive()[(firstLeader + partition) % Math.max(1, this.#getLive().length)] ?? -1;
    const log = new PartitionLog(this.#nextLogId++);
    const copy = isCopied ? this.#createCopy(log) : undefined;
    return { topic, partition, leader, leaderEpoch: 0, log, copy, lastLeader: leader, former: undefined };
  }

  #setLeader(partition: Partition, leader: number): void {
    partition.leader = leader;
    partition.leaderEpoch += 1;
    if (leader >= 0) partition.lastLeader = leader;
  }

  #createImage(): Image {
    this.#lastVersion += 1;
    return {
      version: this.#lastVersion,
      live: this.#getLive(),
      topics: new Map(
        [...this.topics].map(([name, topic]) => [
          name,
          {
            id: topic.id,
            topic,
            partitions: topic.partitions.map((partition) => ({
              partition,
              leader: partition.leader,
              leaderEpoch: partition.leaderEpoch,
            })),
          },
        ]),
      ),
    };
  }

  #learn(node: BrokerNode, image: Image): void {
    if (image.version > node.metadata.version) node.metadata = image;
    const follow = (): void => {
      if (image.version <= node.logs.version) return;
      node.logs = image;
      this.#options.onChanged();
    };
    if (this.#options.clock.getTime() === 0 || this.#options.random.chance(0.7)) follow();
    else this.#options.clock.schedule(node.host, this.#options.random.between(1, maxLogDelayMs), follow);
  }
}
