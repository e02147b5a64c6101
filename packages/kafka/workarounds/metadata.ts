/**
 * Faults of kafkajs 2.2.4. broker/index.js:174: a client that does not use any topic asks for the metadata of
 * all topics, which is slow in a large cluster. protocol/requests/metadata/v0/response.js:56: one partition
 * without a leader, of any topic that is asked for, keeps all others from being read and written.
 * cluster/index.js:315 and 416: it looks for the broker -1 then, again and again without a pause.
 * The tests in test/workarounds/metadata.test.ts fail when kafkajs no longer needs this.
 */

import kafkajs from "kafkajs";

import { errorCodes } from "../protocol/error-codes.ts";
import { requestMetadata } from "../protocol/metadata.ts";
import { failOnError, type RequestTarget } from "../protocol/request.ts";
import { patchMethod } from "./patch.ts";

interface Broker extends RequestTarget {
  metadata(topics?: readonly string[]): Promise<object>;
}

/** What kafkajs keeps of a partition. */
interface KnownPartition {
  readonly partitionId: number;
  readonly leader: number;
}

interface AskedTopic {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number }[];
}

interface Cluster {
  findTopicPartitionMetadata(topic: string): readonly KnownPartition[];
  findLeaderForPartitions(topic: string, partitions: readonly (number | string)[]): object;
  fetchTopicsOffset(topics: readonly AskedTopic[]): Promise<readonly object[]>;
}

/**
 * Makes kafkajs know the partitions that have a leader, whatever others lack one, and ask for the brokers
 * only when a client does not use any topic, in the whole process. What is sent to a partition without a
 * leader fails, and nobody fetches from it.
 */
export function keepLeaderlessPartitions(): void {
  patchMethod<Broker, "metadata">("broker/index.js", "metadata", (broker, _original, topics = []) =>
    readMetadata(broker, topics),
  );
  patchMethod<Cluster, "findLeaderForPartitions">(
    "cluster/index.js",
    "findLeaderForPartitions",
    (cluster, find, topic, partitions) => {
      const lost = partitions.find((partition) => !hasLeader(cluster, topic, Number(partition)));
      if (lost !== undefined) throw createLeaderError(topic, Number(lost));
      return find(topic, partitions);
    },
  );
  patchMethod<Cluster, "fetchTopicsOffset">(
    "cluster/index.js",
    "fetchTopicsOffset",
    async (cluster, fetch, topics) => {
      const led = topics.map(({ partitions, ...rest }) => ({
        ...rest,
        partitions: partitions.filter(({ partition }) => hasLeader(cluster, rest.topic, partition)),
      }));
      // A consumer expects an answer for each topic. Without one it takes the partitions for deleted.
      const unasked = led.filter(
        ({ partitions }, index) => partitions.length === 0 && topics[index]?.partitions.length !== 0,
      );
      return [...(await fetch(led)), ...unasked];
    },
  );
}

async function readMetadata(broker: Broker, names: readonly string[]): Promise<object> {
  const { topics, ...cluster } = await requestMetadata(broker, names);
  for (const { error } of topics) failOnError(error);
  return {
    throttleTime: 0,
    ...cluster,
    topicMetadata: topics.map(({ error, name, partitions }) => ({
      topicErrorCode: error,
      topic: name,
      isInternal: false,
      partitionMetadata: partitions.map(({ error: partitionErrorCode, partition, ...rest }) => ({
        partitionErrorCode,
        partitionId: partition,
        ...rest,
      })),
    })),
  };
}

/** Partitions that kafkajs does not know are its own affair. */
const hasLeader = (cluster: Cluster, topic: string, partition: number): boolean =>
  (cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition)?.leader ??
    0) >= 0;

/** kafkajs asks for the leaders again after an error of this type. */
const createLeaderError = (topic: string, partition: number): Error =>
  new kafkajs.KafkaJSProtocolError(
    Object.assign(new Error(`partition ${partition} of ${topic} has no leader`), {
      type: "LEADER_NOT_AVAILABLE",
      code: errorCodes.leaderNotAvailable,
      retriable: true,
    }),
  );
