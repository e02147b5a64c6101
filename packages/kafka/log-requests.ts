import type { KafkaMessage } from "kafkajs";

import { KafkaUnavailableError } from "@topicsync/lib/errors";
import type {
  LogRecord,
  Partition,
  PartitionLog,
  PartitionOffset,
  TopicBounds,
} from "./interface/records.ts";
import { quoteTopic, toKafkaError } from "./errors.ts";
import { errorCodes } from "./protocol/error-codes.ts";
import { canFetchById, requestFetch, type FetchRequest } from "./protocol/fetch.ts";
import { requestMetadata, type Metadata, type PartitionMetadata } from "./protocol/metadata.ts";
import { failOnError, type RequestTarget } from "./protocol/request.ts";
import { toLogRecord } from "./record-format/batch-reader.ts";
import { findFailure, isPlaceholder } from "./workarounds/fetches.ts";

/** The parts of kafkajs' private cluster that are used. */
export interface Cluster {
  readonly brokerPool: Pick<RequestTarget, "versions"> & { findConnectedBroker(): Promise<ClusterBroker> };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findBroker(query: { readonly nodeId: number }): Promise<ClusterBroker>;
  findControllerBroker(): Promise<RequestTarget>;
  findGroupCoordinator(query: {
    /** A transactional id, if the coordinator of transactions is asked for. */
    readonly groupId: string;
    readonly coordinatorType?: number;
  }): Promise<RequestTarget>;
}

interface ClusterBroker extends RequestTarget {
  fetch(request: FetchRequest): Promise<{
    readonly responses: readonly {
      readonly partitions: readonly {
        readonly messages: readonly (KafkaMessage & { readonly isControlRecord?: boolean })[];
      }[];
    }[];
  }>;
  listOffsets(request: {
    readonly isolationLevel: number;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly timestamp: number }[];
    }[];
  }): Promise<{
    readonly responses: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
    }[];
  }>;
}

/**
 * With "committed", a partition ends at its last stable offset; with "uncommitted", at its high watermark.
 */
export type Isolation = "committed" | "uncommitted";

/** Whether a request fails while a partition has no leader, or leaves such partitions out. */
export type PartitionScope = "all" | "led";

const earliest = -2;
const latest = -1;
const isolationLevels: Readonly<Record<Isolation, number>> = { uncommitted: 0, committed: 1 };

/** Asks any broker for the metadata of these topics, or of all if `names` is null. */
export const fetchMetadata = async (cluster: Cluster, names: readonly string[] | null): Promise<Metadata> =>
  requestMetadata(await cluster.brokerPool.findConnectedBroker(), names);

/** A broker that was added, or that has moved, is known only after the metadata was refreshed. */
export async function findBroker(cluster: Cluster, nodeId: number): Promise<ClusterBroker> {
  try {
    return await cluster.findBroker({ nodeId });
  } catch {
    await cluster.refreshMetadata();
    return cluster.findBroker({ nodeId });
  }
}

/** Finds the leader of a partition, which must know that it is the leader. */
async function findLeader(cluster: Cluster, topic: string, partition: number) {
  const { leader } = findPartition(await fetchMetadata(cluster, [topic]), partition);
  const broker = await findBroker(cluster, leader);
  const metadata = await requestMetadata(broker, [topic]);
  const found = findPartition(metadata, partition);
  if (found.leader !== leader) failOnError(errorCodes.notLeader);
  const { leaderEpoch } = found;
  const { clusterId, topics } = metadata;
  const partitions = topics[0]?.partitions.length ?? 0;
  return { broker, clusterId, topicId: topics[0]?.topicId, leader, leaderEpoch, partitions };
}

/** Finds the partition of the only topic, which has a leader. Throws kafkajs' errors. */
function findPartition({ topics: [topic] }: Metadata, partition: number): PartitionMetadata {
  failOnError(topic?.error ?? errorCodes.leaderNotAvailable);
  const found = topic?.partitions.find((one) => one.partition === partition);
  if (found === undefined) throw new KafkaUnavailableError("Kafka does not know the partition");
  if (found.leader < 0) throw new KafkaUnavailableError("the partition has no leader");
  return found;
}

/**
 * Lists the offset of each partition for a timestamp, by name, with the topic's id; undefined if the topic
 * does not exist.
 */
async function listOffsets(
  cluster: Cluster,
  topic: string,
  {
    timestamp,
    isolation,
    scope,
  }: { readonly timestamp: number; readonly isolation: Isolation; readonly scope: PartitionScope },
): Promise<
  { readonly offsets: ReadonlyMap<number, number>; readonly topicId: string | undefined } | undefined
> {
  const metadata = await fetchMetadata(cluster, [topic]);
  const [found] = metadata.topics;
  if (found?.error === errorCodes.unknownTopicOrPartition) return undefined;
  failOnError(found?.error ?? errorCodes.leaderNotAvailable);
  const known = found?.partitions ?? [];
  const partitions = scope === "all" ? known : known.filter(({ leader }) => leader >= 0);
  const byLeader = Map.groupBy(partitions, ({ partition }) => findPartition(metadata, partition).leader);
  const lists = [...byLeader].map(async ([leader, led]) =>
    listOffsetsAt(await findBroker(cluster, leader), topic, { partitions: led, timestamp, isolation }),
  );
  return { offsets: new Map((await Promise.all(lists)).flat()), topicId: found?.topicId };
}

/** Asks a leader for the offset of its partitions for a timestamp; -1 if no record is that young. */
async function listOffsetsAt(
  leader: ClusterBroker,
  topic: string,
  query: {
    readonly partitions: readonly { readonly partition: number }[];
    readonly timestamp: number;
    readonly isolation: Isolation;
  },
): Promise<(readonly [partition: number, offset: number])[]> {
  const { timestamp } = query;
  const { responses } = await leader.listOffsets({
    isolationLevel: isolationLevels[query.isolation],
    topics: [{ topic, partitions: query.partitions.map(({ partition }) => ({ partition, timestamp })) }],
  });
  return responses
    .flatMap(({ partitions }) => partitions)
    .map(({ partition, offset }) => [partition, Number(offset)] as const);
}

/** See KafkaRequests. Throws kafkajs' errors. */
export async function fetchBounds(
  cluster: Cluster,
  topic: string,
  isolation: Isolation,
  scope: PartitionScope = "all",
): Promise<ReadonlyMap<number, TopicBounds> | undefined> {
  const highs = await listOffsets(cluster, topic, { timestamp: latest, isolation, scope });
  const lows = await listOffsets(cluster, topic, { timestamp: earliest, isolation, scope });
  if (highs === undefined || lows === undefined) return undefined;
  const { offsets, topicId } = highs;
  return new Map(
    [...offsets].map(([partition, high]) => [
      partition,
      { low: lows.offsets.get(partition) ?? 0, high, topicId },
    ]),
  );
}

/** What one response has of a partition. */
export interface FetchedRecords {
  readonly records: readonly LogRecord[];
  /** The offset after everything fetched; the requested one if nothing was. */
  readonly end: number;
  /** Whether the log does not have the requested offset. */
  readonly isOutOfRange: boolean;
}

const fetchWaitMs = 250;
const maxFetchBytes = 1024 * 1024;

/** See KafkaRequests. Throws kafkajs' errors. */
export async function fetchRecords(
  cluster: Cluster,
  topic: string,
  { partition, offset }: PartitionOffset,
): Promise<FetchedRecords> {
  const { leader } = findPartition(await fetchMetadata(cluster, [topic]), partition);
  const broker = await findBroker(cluster, leader);
  const { responses } = await broker.fetch({
    maxWaitTime: fetchWaitMs,
    minBytes: 1,
    maxBytes: maxFetchBytes,
    isolationLevel: isolationLevels.committed,
    rackId: "",
    topics: [{ topic, partitions: [{ partition, fetchOffset: String(offset), maxBytes: maxFetchBytes }] }],
  });
  const messages = responses[0]?.partitions[0]?.messages ?? [];
  const failure = findFailure(messages);
  if (failure !== undefined) throw failure;
  const last = messages.at(-1);
  return {
    records: messages.filter(({ isControlRecord }) => !isControlRecord).map(toLogRecord),
    end: last === undefined ? offset : Number(last.offset) + 1,
    isOutOfRange: isPlaceholder(messages),
  };
}

/** See LogReader. Throws kafkajs' errors. */
export async function findFirstSince(
  cluster: Cluster,
  topic: string,
  timestamp: number,
  scope: PartitionScope = "all",
): Promise<ReadonlyMap<number, number>> {
  const query = { isolation: "uncommitted", scope } as const;
  const found = await listOffsets(cluster, topic, { ...query, timestamp });
  const ends = await listOffsets(cluster, topic, { ...query, timestamp: latest });
  if (found === undefined || ends === undefined)
    throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
  return new Map(
    [...ends.offsets].map(([partition, end]) => {
      const offset = found.offsets.get(partition) ?? -1;
      return [partition, offset < 0 ? end : offset];
    }),
  );
}

/** See LogWatch. Throws kafkajs' errors. */
export async function fetchLog(cluster: Cluster, topic: string, partition: number): Promise<PartitionLog> {
  const { broker, topicId, ...rest } = await findLeader(cluster, topic, partition);
  // By name, this may be the end of a log that was deleted. A leader that does not know its end yet responds
  // with an error.
  const named = { partitions: [{ partition }], isolation: "uncommitted" } as const;
  const [[, high] = [partition, 0]] = await listOffsetsAt(broker, topic, { ...named, timestamp: latest });
  if (topicId !== undefined && canFetchById(broker)) {
    const rights = { TOPIC_AUTHORIZATION_FAILED: `Read on ${quoteTopic(topic)}` };
    const proof = proveBounds(broker, { topic, topicId, partition, end: high });
    const bounds = await proof.catch((error: unknown) => {
      throw toKafkaError(error, rights);
    });
    return { ...bounds, topicId, ...rest };
  }
  const [[, low] = [partition, 0]] = await listOffsetsAt(broker, topic, { ...named, timestamp: earliest });
  return { low, high, topicId: undefined, ...rest };
}

/**
 * Fetches at the end of a log, which returns nothing but its bounds. An error means that the end belongs to
 * another log.
 */
async function proveBounds(
  broker: ClusterBroker,
  { topic, topicId, partition, end }: Partition & { readonly topicId: string; readonly end: number },
) {
  const { error, topics } = await requestFetch(
    broker,
    {
      maxWaitTime: 0,
      minBytes: 0,
      maxBytes: 1,
      isolationLevel: isolationLevels.committed,
      rackId: "",
      topics: [{ topic, partitions: [{ partition, fetchOffset: String(end), maxBytes: 1 }] }],
    },
    new Map([[topic, topicId]]),
  );
  const fetched = topics[0]?.partitions[0];
  if (fetched?.error === errorCodes.topicAuthorizationFailed) failOnError(fetched.error);
  if (error !== 0 || fetched === undefined || fetched.error !== 0)
    throw new KafkaUnavailableError("the log of the partition is being replaced");
  return { low: Number(fetched.logStartOffset), high: Number(fetched.highWatermark) };
}

/** See LogWatch. Throws kafkajs' errors. */
export async function confirmLog(
  cluster: Cluster,
  topic: string,
  { partition, log }: { readonly partition: number; readonly log: PartitionLog },
): Promise<void> {
  const { brokers } = await fetchMetadata(cluster, []);
  const answers = await Promise.allSettled(
    brokers.map(async ({ nodeId }) => requestMetadata(await findBroker(cluster, nodeId), [topic])),
  );
  const views = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  if (views.length * 2 > brokers.length && views.every((view) => agrees(view, partition, log))) return;
  throw new KafkaUnavailableError(`the brokers do not agree yet on ${quoteTopic(topic)}`);
}

/**
 * Whether what a broker knows does not contradict the log. A broker without topic ids, in a cluster that is
 * being upgraded, cannot tell logs apart.
 */
function agrees({ topics: [topic] }: Metadata, partition: number, log: PartitionLog): boolean {
  const found = topic?.partitions.find((one) => one.partition === partition);
  if (topic === undefined || topic.error !== 0 || found === undefined) return false;
  const isSameTopic =
    topic.topicId === undefined || log.topicId === undefined || topic.topicId === log.topicId;
  return isSameTopic && found.leader === log.leader && found.leaderEpoch <= log.leaderEpoch;
}
