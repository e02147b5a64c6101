import { UnavailableError } from "@topicsync/lib/errors";
import { sleep } from "@topicsync/lib/platform";
import type { PartitionLog, PartitionOffset } from "./interface/records.ts";
import { createTopics } from "./admin/topic-creation.ts";
import { quoteTopic, toKafkaError, type Rights } from "./errors.ts";
import {
  confirmLog,
  fetchBounds,
  fetchLog,
  fetchMetadata,
  fetchRecords,
  findFirstSince,
  type Cluster,
  type Isolation,
  type PartitionScope,
} from "./log-requests.ts";
import { restoreEnd, type TransactionQuery } from "./lost-ends.ts";
import type { NewTopic } from "./protocol/create-topics.ts";
import { requestStableOffset, type OffsetQuery } from "./protocol/offset-fetch.ts";

const maxAttempts = 3;
const retryDelayMs = 200;

/** Requests that no client of kafkajs 2.2.4 sends, over connections of their own. */
export type KafkaRequests = ReturnType<typeof createRequests>;

/** Creates the client. Connects with the first request. */
export function createRequests(createCluster: () => object) {
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

  const askAbout = <T>(topic: string, request: () => Promise<T>, right = "Describe"): Promise<T> =>
    ask({ TOPIC_AUTHORIZATION_FAILED: `${right} on ${quoteTopic(topic)}` }, request);

  return {
    /**
     * Returns the metadata of these topics, or of all if `names` is null, each with its own error code. One
     * broker answers, which may lag behind. Throws UnavailableError.
     */
    fetchMetadata: (names: readonly string[] | null) => ask({}, () => fetchMetadata(cluster, names)),
    /**
     * Returns the bounds of each partition, by name; undefined if the topic does not exist. Throws
     * UnavailableError.
     */
    fetchBounds: (topic: string, isolation: Isolation, scope?: PartitionScope) =>
      askAbout(topic, () => fetchBounds(cluster, topic, isolation, scope)),
    /** Fetches committed records from an offset on, as many as one response has. Throws UnavailableError. */
    fetchRecords: (topic: string, from: PartitionOffset) =>
      askAbout(topic, () => fetchRecords(cluster, topic, from), "Read"),
    /** See LogReader. */
    findFirstSince: (topic: string, timestamp: number, scope?: PartitionScope) =>
      askAbout(topic, () => findFirstSince(cluster, topic, timestamp, scope)),
    /** See LogWatch. */
    fetchLog: (topic: string, partition: number) =>
      askAbout(topic, () => fetchLog(cluster, topic, partition)),
    /** See LogWatch. */
    confirmLog: (topic: string, partition: number, log: PartitionLog) =>
      askAbout(topic, () => confirmLog(cluster, topic, { partition, log })),
    /**
     * Throws kafkajs' errors: UNSTABLE_OFFSET_COMMIT while a transaction that moves the offset is being
     * completed.
     */
    async fetchStableOffset(query: OffsetQuery) {
      await cluster.connect();
      const coordinator = await cluster.findGroupCoordinator({ groupId: query.groupId });
      return requestStableOffset(coordinator, query);
    },
    /**
     * Creates Kafka topics, and waits a moment for their leaders. Returns what became of each. Throws
     * UnavailableError.
     */
    createTopics(topics: readonly NewTopic[]) {
      const earlier = { mayHaveCreated: false };
      return ask({}, () => createTopics(cluster, topics, earlier));
    },
    /**
     * Ends the last transaction where its end is missing, and returns how; see lost-ends.ts. Throws kafkajs'
     * errors.
     */
    async restoreEnd(query: TransactionQuery) {
      await cluster.connect();
      return restoreEnd(cluster, query);
    },
    close: () => cluster.disconnect(),
  };
}
