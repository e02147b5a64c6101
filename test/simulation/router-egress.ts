/**
 * The Kafka topics that events are forwarded to: what they are named by a rule of the world's own, which
 * existed when, how many partitions they had, and what they take.
 */
import type { EgressTopics } from "@topicsync/kafka";
import type { EgressAction } from "./router-actions.ts";
import type { Clock, Cluster, Host, PartitionLog, Random, Topic } from "../simulated-servers/index.ts";
import type { Prospect } from "./router-event-check.ts";
import type { RouterTopics } from "./router-topics.ts";
import type { TopicVersion } from "./router-versions.ts";
import { Violation } from "./violation.ts";

/** What the names of Kafka topics depend on. */
export type NamedBy = "nothing" | "external id" | "namespace";

export const templates: Readonly<Record<NamedBy, string>> = {
  nothing: "egress",
  "external id": "egress.{externalId}",
  namespace: "egress.{namespace}",
};

export interface InventoryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly cluster: Cluster;
  readonly topics: RouterTopics;
  readonly namedBy: NamedBy;
  readonly unmatchedTopic: string | undefined;
  /** Whether the processes create those that are missing. */
  readonly isCreating: boolean;
  /** How many Kafka topics a process may create. */
  readonly maxCreated: number;
  /** How late brokers may hear of a topic. */
  readonly getMaxLagMs: () => number;
}

/** From a time on. */
interface Since<T> {
  readonly at: number;
  readonly is: T;
}

/** The Kafka topics that a process has created. */
interface Creations {
  readonly created: Set<string>;
  /** Those that it knows of. */
  readonly confirmed: Set<string>;
  /** How many are in progress. */
  lookUps: number;
}

interface KnownTopic {
  readonly name: string;
  readonly maxBatchBytes: number;
  createdAt: number;
  deletedAt: number;
  readonly partitions: Since<number>[];
  /** Whether clients may write to it. */
  readonly rights: Since<boolean>[];
  topic: Topic | undefined;
}

/** A topic that a broker does not know counts as missing when it does not know it after this time either. */
const confirmationMs = 2_000;
/** How long the product, and kafkajs, may use what they know of a topic. */
const maxKnowledgeMs = 62_000;
const maxPartitions = 5;

const isLegal = (name: string): boolean => /^[A-Za-z0-9._-]+$/.test(name);

/** The values that something had at any moment from `since` to `until`. */
function listDuring<T>(history: readonly Since<T>[], since: number, until: number): Set<T> {
  const before = history.findLast(({ at }) => at <= since);
  const during = history.filter(({ at }) => at > since && at <= until);
  return new Set([...(before === undefined ? [] : [before]), ...during].map(({ is }) => is));
}

/** The topics that may be forwarded to, and their histories. */
export class EgressInventory {
  readonly #options: InventoryOptions;
  readonly #all: KnownTopic[];
  readonly #creations = new Map<Host, Creations>();
  #totalCreated = 0;
  /** When a process may first have counted as many Kafka topics as it may create. */
  #limitReachedAt = Infinity;

  constructor(options: InventoryOptions) {
    this.#options = options;
    const names = new Set(
      options.topics.ids.flatMap((externalId) =>
        options.topics.namespaces.map((namespace) => this.#formatName({ externalId, namespace })),
      ),
    );
    if (options.unmatchedTopic !== undefined) names.add(options.unmatchedTopic);
    this.#all = [...names].filter(isLegal).map((name) => ({
      name,
      maxBatchBytes: options.random.pick([Infinity, Infinity, 1_000]),
      createdAt: Infinity,
      deletedAt: Infinity,
      partitions: [],
      rights: [{ at: 0, is: true }],
      topic: undefined,
    }));
    for (const known of this.#all)
      if (options.random.chance(options.isCreating ? 0.1 : 0.75)) this.#createTopic(known);
  }

  onCreated(topic: Topic, process?: Host): void {
    if (process !== undefined) this.#count(process, topic.name);
    const known = this.#all.find(({ name }) => name === topic.name);
    if (known === undefined) return;
    topic.maxBatchBytes = known.maxBatchBytes;
    known.createdAt = this.#options.clock.getTime();
    known.partitions.push({ at: this.#options.clock.getTime(), is: topic.partitions.length });
    known.topic = topic;
  }

  /** A process has created a Kafka topic. Throws a Violation if it may not. */
  #count(process: Host, name: string): void {
    const { maxCreated, clock } = this.#options;
    this.#totalCreated += 1;
    // What another process has created may count as well, when a response was lost.
    if (this.#totalCreated >= maxCreated)
      this.#limitReachedAt = Math.min(this.#limitReachedAt, clock.getTime());
    const own = this.#getCreations(process);
    // Nobody waits for the response to a request that is late.
    if (own.lookUps === 0) return;
    own.created.add(name);
    if (own.created.size > maxCreated) throw new Violation(`a process creates more Kafka topics than it may`);
  }

  #getCreations(process: Host): Creations {
    const own = this.#creations.get(process) ?? { created: new Set(), confirmed: new Set(), lookUps: 0 };
    this.#creations.set(process, own);
    return own;
  }

  /** What a process looks up and creates. When that fails, it may not know what it has created. */
  watch(process: Host, directory: EgressTopics): EgressTopics {
    const own = this.#getCreations(process);
    return {
      find: async (names) => {
        own.lookUps += 1;
        try {
          return await directory.find(names);
        } catch (error) {
          for (const name of own.created) if (!own.confirmed.has(name)) own.created.delete(name);
          throw error;
        } finally {
          own.lookUps -= 1;
        }
      },
      deny: (name, reason) => {
        directory.deny(name, reason);
      },
      forget: () => {
        directory.forget();
      },
    };
  }

  /** A process counts Kafka topics as created. */
  onConfirmed(process: Host, names: readonly string[]): void {
    for (const name of names) this.#getCreations(process).confirmed.add(name);
  }

  getName({ definition }: TopicVersion): string {
    return definition === undefined ? "" : this.#formatName(definition.topic);
  }

  act(action: EgressAction): void {
    switch (action.do) {
      case "create egress topic":
        this.#create(action.number);
        break;
      case "delete egress topic":
        this.#delete(action.number);
        break;
      case "grow egress topic":
        this.#grow(action.number);
        break;
      case "move egress leader":
        this.#moveLeader(action.number, action.partition, action.to);
        break;
      case "lose egress leader":
        this.#loseLeader(action.number, action.partition, action.ms);
        break;
      case "revoke right":
      case "grant right":
        this.setRight(action.number, action.do === "grant right");
    }
  }

  #create(number: number): void {
    const known = this.#find(number);
    if (known?.createdAt === Infinity) this.#createTopic(known);
  }

  /** For good, so not where the processes would create it again. */
  #delete(number: number): void {
    const known = this.#options.isCreating ? undefined : this.#find(number);
    if (known?.topic === undefined || known.deletedAt !== Infinity) return;
    known.deletedAt = this.#options.clock.getTime();
    this.#options.cluster.deleteTopic(known.name);
  }

  #grow(number: number): void {
    const known = this.#find(number);
    if (known?.topic === undefined || known.deletedAt !== Infinity) return;
    const count = known.topic.partitions.length + 1;
    if (count > maxPartitions) return;
    known.partitions.push({ at: this.#options.clock.getTime(), is: count });
    this.#options.cluster.registry.grow(known.name, count);
  }

  /** Revokes or grants the right to write. */
  setRight(number: number, isGranted: boolean): void {
    const known = this.#find(number);
    if (known === undefined || known.rights.at(-1)?.is === isGranted) return;
    known.rights.push({ at: this.#options.clock.getTime(), is: isGranted });
    if (isGranted) this.#options.cluster.denied.delete(known.name);
    else this.#options.cluster.denied.add(known.name);
  }

  grantAll(): void {
    for (const { name, rights } of this.#all) {
      this.#options.cluster.denied.delete(name);
      if (rights.at(-1)?.is === false) rights.push({ at: this.#options.clock.getTime(), is: true });
    }
  }

  /** Leaves a Kafka topic without leaders until `giveLeaders` is called; undefined if it does not exist. */
  takeLeaders(number: number) {
    const known = this.#find(number);
    if (known?.topic === undefined || known.deletedAt !== Infinity) return undefined;
    const { name, topic } = known;
    for (const partition of topic.partitions) this.#options.cluster.registry.moveLeader(partition, -1);
    return {
      name,
      giveLeaders: () => {
        for (const partition of topic.partitions)
          this.#options.cluster.registry.moveLeader(partition, partition.lastLeader);
      },
    };
  }

  #loseLeader(number: number, partition: number, ms: number): void {
    const { topic, deletedAt } = this.#find(number) ?? {};
    const found = topic?.partitions[partition % topic.partitions.length];
    if (found !== undefined && deletedAt === Infinity) this.#options.cluster.registry.loseLeader(found, ms);
  }

  #moveLeader(number: number, partition: number, to: number): void {
    const known = this.#find(number);
    const count = known?.topic?.partitions.length ?? 0;
    if (known !== undefined && count > 0) this.#options.cluster.moveLeader(known.name, partition % count, to);
  }

  /**
   * What can become of an event that is sent at some time from `since` to `until`; nothing if no Kafka
   * topic has the name.
   */
  findOutcomes({ name, bytes, since, until }: SentEvent): ReadonlySet<Prospect> {
    const outcomes = new Set<Prospect>();
    const known = this.#all.find((one) => one.name === name);
    if (known === undefined)
      return name === this.#options.unmatchedTopic ? outcomes.add("NO_EGRESS_TOPIC") : outcomes;
    const { createdAt, deletedAt, maxBatchBytes } = known;
    const lagMs = this.#options.getMaxLagMs();
    const isUnheardOf = since < createdAt + lagMs;
    const rights = listDuring(known.rights, since - maxKnowledgeMs, until);
    // Who may not write to a topic may not see or create it either. A process remembers a denial for a
    // while, also of a topic that is deleted.
    if (rights.has(false)) outcomes.add("NO_EGRESS_TOPIC");
    if (this.#options.isCreating) {
      outcomes.add("later");
      // A process remembers for a while that it may not create a topic, also if another one creates it.
      if (until >= this.#limitReachedAt && since < createdAt + lagMs + maxKnowledgeMs)
        outcomes.add("NO_EGRESS_TOPIC");
      if (isUnheardOf && until >= createdAt && lagMs > confirmationMs) outcomes.add("NO_EGRESS_TOPIC");
    } else if (isUnheardOf || until >= deletedAt) outcomes.add("NO_EGRESS_TOPIC");
    if (until < createdAt) return outcomes;
    if (rights.has(false)) outcomes.add("EGRESS_REJECTED");
    if (since >= deletedAt + lagMs) return outcomes;
    if (rights.has(true)) outcomes.add(bytes > maxBatchBytes ? "EGRESS_REJECTED" : "sent");
    return outcomes;
  }

  /** How many partitions a process may have believed the Kafka topic to have. */
  listCounts(name: string, since: number, until: number): ReadonlySet<number> {
    const history = this.#all.find((one) => one.name === name)?.partitions ?? [];
    return listDuring(history, since - maxKnowledgeMs - this.#options.getMaxLagMs(), until);
  }

  /** Of those that exist. */
  listLogs(): readonly PartitionLog[] {
    return [...this.#all.map(({ name }) => name), "dead-letters"].flatMap(
      (name) => this.#options.cluster.topics.get(name)?.partitions.map(({ log }) => log) ?? [],
    );
  }

  #formatName({
    externalId,
    namespace,
  }: {
    readonly externalId: string;
    readonly namespace: string;
  }): string {
    if (this.#options.namedBy === "nothing") return "egress";
    return `egress.${this.#options.namedBy === "external id" ? externalId : namespace}`;
  }

  #createTopic(known: KnownTopic): void {
    const { name } = known;
    this.onCreated(
      this.#options.cluster.registry.create({ name, partitions: this.#options.random.pick([1, 2, 3]) }),
    );
  }

  #find(number: number): KnownTopic | undefined {
    return this.#all[number % this.#all.length];
  }
}

interface SentEvent {
  readonly name: string;
  readonly bytes: number;
  readonly since: number;
  readonly until: number;
}
