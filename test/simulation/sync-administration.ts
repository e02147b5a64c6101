/** What administrators of Kafka and MongoDB do in the sync's world. */
import type { Broker } from "@topicsync/kafka/client";
import type { Logger } from "@topicsync/lib/logger";
import type { Database } from "../../src/storage/database/database.ts";
import { createLogStore } from "../../src/storage/logs.ts";
import { collections } from "../../src/storage/names.ts";
import type { PositionRecord } from "../../src/storage/position-records.ts";
import { createTopicStore } from "../../src/storage/topics/topics.ts";
import { setPosition, type PositionedConsumer } from "../../src/service/kafka/set-positions.ts";
import {
  startOfTime,
  creation,
  nameFetching,
  type Clock,
  type Cluster,
  type Document,
  type Host,
  type Random,
} from "../simulated-servers/index.ts";
import type { Position } from "./sync-changes.ts";
import type { Right, SyncAction } from "./sync-steps.ts";
import { findOffset } from "./input-topic.ts";
import type { SyncTopic } from "./sync-topic.ts";

export interface AdministrationOptions {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly topic: SyncTopic;
  readonly topicName: string;
  readonly groupId: string;
  readonly deadLetterTopic: string;
  /** The machine of who works in the database. */
  readonly operator: Host;
  readonly database: Database;
  readonly createBroker: () => Broker;
  readonly log: Logger;
}

export type AdministrationAction = Extract<
  SyncAction,
  {
    readonly do:
      | "set position"
      | "lose position"
      | "set offset"
      | "expire offsets"
      | "refuse topics"
      | "revoke right"
      | "grant right";
  }
>;

const getPositions = (database: Database) => database.collection<PositionRecord>(collections.positions);

/** The administrators, and which of their actions have happened. */
export class Administration {
  readonly #options: AdministrationOptions;
  readonly #deniedNames: Readonly<Record<Right, string>>;
  readonly #positions: ReturnType<typeof getPositions>;
  #wasDenied = false;
  #hasLostPositions = false;
  #consumer: PositionedConsumer | undefined;
  /** Changes of the database that have begun and not ended. */
  #pending = 0;

  constructor(options: AdministrationOptions) {
    this.#options = options;
    const { topicName, groupId, deadLetterTopic, database } = options;
    this.#deniedNames = {
      read: topicName,
      fetch: nameFetching(topicName),
      group: groupId,
      "write dead letters": deadLetterTopic,
      "create topics": creation,
    };
    this.#positions = getPositions(database);
  }

  /** Whether a right was ever missing. */
  wasDenied(): boolean {
    return this.#wasDenied;
  }

  /** A reader does not hear that its position is lost. */
  hasLostPositions(): boolean {
    return this.#hasLostPositions;
  }

  hasEnded(): boolean {
    return this.#pending === 0;
  }

  /** The database is from a version that did not know the ids of topics. */
  insertOldPositions(random: Random): void {
    const { topic } = this.#options;
    for (const { partition } of topic.list()) {
      const records = Array.from({ length: random.between(1, 6) }, (_, id) => ({ id, skewMs: 0 }));
      const sent = records.map((record) => ({ ...record, kind: "define", variant: 0 }) as const);
      topic.act({ do: "produce", partition, records: sent, transaction: "none" });
      const offset = random.between(0, records.length + 1);
      this.#insertPosition(partition, { offset, epoch: random.between(1, 4) });
    }
  }

  /** Whoever sees a partition that waits in another cluster has it read that from the beginning. */
  decide(readAll: (collection: string) => readonly Document[]): void {
    if (this.#pending > 0) return;
    const { topic } = this.#options;
    for (const record of readAll(collections.positions)) {
      const { partition } = record["_id"] as { readonly partition: number };
      const there = topic.getLog(partition);
      if (there === undefined || there.log.end === 0) continue;
      if (!topic.isOfOtherCluster(record["kafka_topic_id"] as string, there)) continue;
      this.#attempt(async () => {
        await setPosition(await this.#openConsumer(), { partition, offset: there.log.low });
      });
    }
  }

  /** What `topicsync positions` works with. */
  async #openConsumer(): Promise<PositionedConsumer> {
    const { database, topicName: topic, groupId: group, createBroker, log } = this.#options;
    if (this.#consumer !== undefined) return this.#consumer;
    await database.connect(new AbortController().signal);
    const broker = createBroker();
    const store = createTopicStore(database, log, { historyRetentionDays: undefined });
    this.#consumer = {
      ...{ name: "announcements", group, topic, isInKafka: false },
      watch: broker.watch(topic),
      observer: broker.observe({ topic, groupId: group }),
      logs: createLogStore(database),
      findPositions: () => store.findPositions(group, topic),
      setPosition: (partition, from, to) => store.setPosition({ group, topic, partition }, from, to),
    };
    return this.#consumer;
  }

  act(action: AdministrationAction): void {
    const { cluster, topic, topicName, groupId } = this.#options;
    if (action.do === "expire offsets") {
      cluster.groups.deleteTopicOffsets(topicName);
      return;
    }
    if (action.do === "refuse topics") {
      cluster.refuseTopics(action.ms);
      return;
    }
    if ("right" in action) {
      const name = this.#deniedNames[action.right];
      if (action.do === "grant right") cluster.denied.delete(name);
      else cluster.denied.add(name);
      this.#wasDenied ||= action.do === "revoke right";
      return;
    }
    const found = topic.find(action.partition);
    if (found === undefined) return;
    const { partition, log } = found;
    this.#hasLostPositions ||= action.do === "lose position";
    if (action.do === "lose position") {
      this.#attempt(() => this.#positions.deleteOne({ "_id.partition": partition }));
      return;
    }
    const offset = action.share === undefined ? undefined : findOffset(log, action.share);
    if (action.do === "set offset")
      cluster.setOffset(
        groupId,
        topicName,
        partition,
        offset === undefined ? undefined : { offset, metadata: "" },
      );
    else if (offset !== undefined) this.#setPosition(partition, topic.identify(log).topicId, offset);
  }

  /** With the tools of MongoDB, where there is one in the log that is there. */
  #setPosition(partition: number, topicId: string | undefined, offset: number): void {
    const filter = {
      "_id.partition": partition,
      ...(topicId === undefined ? {} : { kafka_topic_id: topicId }),
    };
    this.#attempt(() => this.#positions.updateOne(filter, { $set: { next_offset: offset } }));
  }

  /** Without a topic id; each partition had epochs of its own. */
  #insertPosition(partition: number, { offset, epoch }: Position): void {
    this.#attempt(() =>
      this.#positions.insertOne({
        _id: { group: this.#options.groupId, topic: this.#options.topicName, partition },
        next_offset: offset,
        ...(epoch === 1 ? {} : { epoch }),
        updated_on: new Date(startOfTime),
      }),
    );
  }

  #attempt(change: () => Promise<unknown>): void {
    this.#pending += 1;
    this.#options.clock.schedule(this.#options.operator, 0, () => {
      change()
        .catch(() => undefined)
        .finally(() => {
          this.#pending -= 1;
        });
    });
  }
}
