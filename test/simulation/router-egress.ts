/** The Kafka topics that events are forwarded to: which existed when, and what they take. */
import type { EgressNaming } from "../../src/routing/egress.ts";
import type { Clock } from "./clock.ts";
import type { Coordinator } from "./kafka/coordinator.ts";
import type { EgressLog } from "./kafka/egress-log.ts";
import type { Random } from "./random.ts";
import type { Obstacle } from "./router-oracle.ts";
import type { RouterTopics, TopicVersion } from "./router-topics.ts";

export interface InventoryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly coordinator: Coordinator;
  readonly naming: EgressNaming;
  readonly topics: RouterTopics;
  readonly unmatchedTopic: string | undefined;
}

interface KnownTopic {
  readonly name: string;
  readonly partitions: number;
  readonly maxBatchBytes: number;
  createdAt: number;
  deletedAt: number;
}

export function createEgressInventory({
  clock,
  random,
  coordinator,
  naming,
  topics,
  unmatchedTopic,
}: InventoryOptions) {
  const names = [
    ...new Set([
      ...topics.ids.flatMap((externalId) =>
        topics.namespaces.map((namespace) => naming.getName({ externalId, namespace })),
      ),
      ...(unmatchedTopic === undefined ? [] : [unmatchedTopic]),
    ]),
  ].filter((name) => naming.findFault(name) === undefined || name === unmatchedTopic);
  const all: KnownTopic[] = names.map((name) => ({
    name,
    partitions: random.pick([1, 2, 3]),
    maxBatchBytes: random.pick([Infinity, Infinity, 1_000]),
    createdAt: Infinity,
    deletedAt: Infinity,
  }));
  const logs: EgressLog[] = [];

  function createTopic(topic: KnownTopic): void {
    topic.createdAt = clock.getTime();
    logs.push(...coordinator.createTopic(topic.name, topic.partitions, topic.maxBatchBytes).logs);
  }

  for (const topic of all) if (random.chance(0.75)) createTopic(topic);

  const find = (number: number): KnownTopic | undefined => all[number % all.length];

  return {
    getName: ({ definition }: TopicVersion): string =>
      definition === undefined ? "" : naming.getName(definition.topic),
    create(number: number): void {
      const topic = find(number);
      if (topic?.createdAt === Infinity) createTopic(topic);
    },
    /** For good. */
    delete(number: number): void {
      const topic = find(number);
      if (topic === undefined || topic.createdAt === Infinity || topic.deletedAt !== Infinity) return;
      topic.deletedAt = clock.getTime();
      coordinator.topics.delete(topic.name);
    },
    /** What can become of an event that is sent at some time from `since` to `until`; nothing if no Kafka topic can have the name. */
    findOutcomes: ({ name, bytes, since, until }: SentEvent): ReadonlySet<Obstacle | "sent"> => {
      const outcomes = new Set<Obstacle | "sent">();
      const topic = all.find((one) => one.name === name);
      if (topic === undefined) return name === unmatchedTopic ? outcomes.add("NO_EGRESS_TOPIC") : outcomes;
      const { createdAt, deletedAt, maxBatchBytes } = topic;
      if (since < createdAt || until >= deletedAt) outcomes.add("NO_EGRESS_TOPIC");
      if (until >= createdAt && since < deletedAt)
        outcomes.add(bytes > maxBatchBytes ? "EGRESS_REJECTED" : "sent");
      return outcomes;
    },
    /** Of those that were deleted, too. */
    listLogs: (): readonly EgressLog[] => [...logs, ...(coordinator.topics.get("dead-letters")?.logs ?? [])],
  };
}

interface SentEvent {
  readonly name: string;
  readonly bytes: number;
  readonly since: number;
  readonly until: number;
}
