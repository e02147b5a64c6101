import { UnavailableError } from "@topicsync/lib/errors";
import { sleep } from "@topicsync/lib/platform";
import type { PartitionLog, PartitionOffset, TopicBounds } from "./interface/records.ts";
import { createTopics, type TopicCreation } from "./admin/topic-creation.ts";
import { quoteTopic, toKafkaError, type Rights } from "./errors.ts";
import {
  confirmLog,
  fetchBounds,
  fetchLog,
  fetchMetadata,
  fetchRecords,
  findFirstSince,
  type Cluster,
  type FetchedRecords,
  type Isolation,
  type PartitionScope,
} from "./log-requests.ts";
import { restoreEnd, type RestoredEnd, type TransactionQuery } from "./lost-ends.ts";
import type { NewTopic } from "./protocol/create-topics.ts";
import type { Metadata } from "./protocol/metadata.ts";
import { requestStableOffset, type CommittedOffset, type OffsetQuery } from "./protocol/offset-fetch.ts";

/** Requests that no client of kafkajs 2.2.4 sends, over connections of their own. */
export interface KafkaRequests {
  /**
   * Returns the metadata of these topics, or of all if `names` is null, each with its own error code. One
   * broker answers, which may lag behind. Throws UnavailableError.
   */
  fetchMetadata(names: readonly string[] | null): Promise<Metadata>;
  /**
   * Returns the bounds of each partition, by name; undefined if the topic does not exist. Throws
   * UnavailableError.
   */
  fetchBounds(
    topic: string,
    isolation: Isolation,
    scope?: PartitionScope,
  ): Promise<ReadonlyMap<number, TopicBounds> | undefined>;
  /** Fetches committed records from an offset on, as many as one response has. Throws UnavailableError. */
  fetchRecords(topic: string, from: PartitionOffset): Promise<FetchedRecords>;
  /** See LogReader. */
  findFirstSince(
    topic: string,
    timestamp: number,
    scope?: PartitionScope,
  ): Promise<ReadonlyMap<number, number>>;
  /** See LogWatch. */
  fetchLog(topic: string, partition: number): Promise<PartitionLog>;
  /** See LogWatch. */
  confirmLog(topic: string, partition: number, log: PartitionLog): Promise<void>;
  /**
   * Throws kafkajs' errors: UNSTABLE_OFFSET_COMMIT while a transaction that moves the offset is being
   * completed.
   */
  fetchStableOffset(query: OffsetQuery): Promise<CommittedOffset>;
  /**
   * Creates Kafka topics, and waits a moment for their leaders. Returns what became of each. Throws
   * UnavailableError.
   */
  createTopics(topics: readonly NewTopic[]): Promise<readonly TopicCreation[]>;
  /**
   * Ends the last transaction where its end is missing, and returns how; see lost-ends.ts. Throws kafkajs'
   * errors.
   */
  restoreEnd(query: TransactionQuery): Promise<RestoredEnd>;
  close(): Promise<void>;
}

const maxAttempts = 3;
const retryDelayMs = 200;

/** Creates the client. Connects with the first request. */
export function createRequests(createCluster: () => object): KafkaRequests {
  const cluster = createCluster() as Cluster;

  async function ask<T>(rights: Rights, request: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await cluster.connect();
        return await request();
      } catch (error) {
        const converted = toKafkaError(error, rights);
        if (attempt === maxAttempts || !(converted instanceof UnavailableError)) throw converted;
        await sleep(retryDelayMs);
      }
    }
  }

  const askAbout = <T>(topic: string, request: () => Promise<T>): Promise<T> =>
    ask({ TOPIC_AUTHORIZATION_FAILED: `Describe on ${quoteTopic(topic)}` }, request);

  return {
    fetchMetadata: (names) => ask({}, () => fetchMetadata(cluster, names)),
    fetchBounds: (topic, isolation, scope) =>
      askAbout(topic, () => fetchBounds(cluster, topic, isolation, scope)),
    fetchRecords: (topic, from) =>
      ask({ TOPIC_AUTHORIZATION_FAILED: `Read on ${quoteTopic(topic)}` }, () =>
        fetchRecords(cluster, topic, from),
      ),
    findFirstSince: (topic, timestamp, scope) =>
      askAbout(topic, () => findFirstSince(cluster, topic, timestamp, scope)),
    fetchLog: (topic, partition) => askAbout(topic, () => fetchLog(cluster, topic, partition)),
    confirmLog: (topic, partition, log) =>
      askAbout(topic, () => confirmLog(cluster, topic, { partition, log })),

    async fetchStableOffset(query) {
      await cluster.connect();
      const coordinator = await cluster.findGroupCoordinator({ groupId: query.groupId });
      return requestStableOffset(coordinator, query);
    },

    createTopics(topics) {
      const earlier = { mayHaveCreated: false };
      return ask({}, () => createTopics(cluster, topics, earlier));
    },

    async restoreEnd(query) {
      await cluster.connect();
      return restoreEnd(cluster, query);
    },

    close: () => cluster.disconnect(),
  };
}
