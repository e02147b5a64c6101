import { KafkaUnavailableError, UnavailableError } from "../lib/errors.ts";
import { sleep } from "../lib/platform.ts";
import type { LogBounds, PartitionLog } from "../sync/records.ts";
import { quoteTopic, toKafkaError, type Rights } from "./errors.ts";
import { canFetchById, requestFetch } from "./protocol/fetch.ts";
import { requestMetadata, type Metadata, type PartitionMetadata } from "./protocol/metadata.ts";
import { requestStableOffset, type CommittedOffset, type OffsetQuery } from "./protocol/offset-fetch.ts";
import { failOnError, type RequestTarget } from "./protocol/request.ts";

/** The parts of kafkajs' private cluster that are used. */
export interface Cluster {
  readonly brokerPool: { findConnectedBroker(): Promise<ClusterBroker> };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findBroker(query: { readonly nodeId: number }): Promise<ClusterBroker>;
  findGroupCoordinator(query: { readonly groupId: string }): Promise<RequestTarget>;
}

interface ClusterBroker extends RequestTarget {
  listOffsets(request: {
    readonly isolationLevel: number;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly timestamp: number }[];
    }[];
  }): Promise<{
    readonly responses: readonly {
      readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
    }[];
  }>;
}

/** With "committed", a partition ends at its last stable offset; with "uncommitted", at its high watermark. */
export type Isolation = "committed" | "uncommitted";

/** Requests that no client of kafkajs 2.2.4 sends, over connections of their own. */
export interface KafkaRequests {
  /**
   * The metadata of these topics, or of all if `names` is null, each with its own error code: what one broker knows, which may be
   * behind. Throws UnavailableError.
   */
  fetchMetadata(names: readonly string[] | null): Promise<Metadata>;
  /** The bounds of each partition, by name; undefined when the topic does not exist. Throws UnavailableError. */
  fetchBounds(topic: string, isolation: Isolation): Promise<ReadonlyMap<number, LogBounds> | undefined>;
  /** See LogObserver. */
  findFirstSince(topic: string, timestamp: number): Promise<ReadonlyMap<number, number>>;
  /** See LogWatch. */
  fetchLog(topic: string, partition: number): Promise<PartitionLog>;
  /** See LogWatch. */
  confirmLog(topic: string, partition: number, log: PartitionLog): Promise<void>;
  /** Throws kafkajs' errors: UNSTABLE_OFFSET_COMMIT while a transaction that moves the offset is being completed. */
  fetchStableOffset(query: OffsetQuery): Promise<CommittedOffset>;
  close(): Promise<void>;
}

const earliest = -2;
const latest = -1;
const isolationLevels: Readonly<Record<Isolation, number>> = { uncommitted: 0, committed: 1 };
const unknownTopicOrPartition = 3;
const leaderNotAvailable = 5;
const notLeader = 6;
const topicAuthorizationFailed = 29;
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

  const describe = (topic: string): Rights => ({
    TOPIC_AUTHORIZATION_FAILED: `Describe on ${quoteTopic(topic)}`,
  });

  const askAny = async (names: readonly string[] | null): Promise<Metadata> =>
    requestMetadata(await cluster.brokerPool.findConnectedBroker(), names);

  /** A broker that was added, or that has moved, is known only after the metadata was refreshed. */
  async function findBroker(nodeId: number): Promise<ClusterBroker> {
    try {
      return await cluster.findBroker({ nodeId });
    } catch {
      await cluster.refreshMetadata();
      return cluster.findBroker({ nodeId });
    }
  }

  /** Finds the leader of a partition, which must know that it is. */
  async function findLeader(topic: string, partition: number) {
    const { leader } = findPartition(await askAny([topic]), partition);
    const broker = await findBroker(leader);
    const metadata = await requestMetadata(broker, [topic]);
    const found = findPartition(metadata, partition);
    if (found.leader !== leader) failOnError(notLeader);
    const { leaderEpoch } = found;
    const { clusterId, topics } = metadata;
    return { broker, clusterId, topicId: topics[0]?.topicId, leader, leaderEpoch };
  }

  /** The offset of each partition for a timestamp, by name; undefined when the topic does not exist. */
  async function listOffsets(
    topic: string,
    timestamp: number,
    isolation: Isolation,
  ): Promise<Map<number, number> | undefined> {
    const metadata = await askAny([topic]);
    if (metadata.topics[0]?.error === unknownTopicOrPartition) return undefined;
    failOnError(metadata.topics[0]?.error ?? leaderNotAvailable);
    const partitions = metadata.topics[0]?.partitions ?? [];
    const byLeader = Map.groupBy(partitions, ({ partition }) => findPartition(metadata, partition).leader);
    const lists = [...byLeader].map(async ([leader, led]) =>
      listOffsetsAt(await findBroker(leader), topic, { partitions: led, timestamp, isolation }),
    );
    return new Map((await Promise.all(lists)).flat());
  }

  return {
    fetchMetadata: (names) => ask({}, () => askAny(names)),

    fetchBounds: (topic, isolation) =>
      ask(describe(topic), async () => {
        const highs = await listOffsets(topic, latest, isolation);
        const lows = await listOffsets(topic, earliest, isolation);
        if (highs === undefined || lows === undefined) return undefined;
        return new Map(
          [...highs].map(([partition, high]) => [partition, { low: lows.get(partition) ?? 0, high }]),
        );
      }),

    findFirstSince: (topic, timestamp) =>
      ask(describe(topic), async () => {
        const found = await listOffsets(topic, timestamp, "uncommitted");
        const ends = await listOffsets(topic, latest, "uncommitted");
        if (found === undefined || ends === undefined)
          throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
        return new Map([...ends].map(([partition, end]) => [partition, toOffset(found.get(partition), end)]));
      }),

    fetchLog: (topic, partition) =>
      ask(describe(topic), async () => {
        const { broker, topicId, ...rest } = await findLeader(topic, partition);
        // By name: it may be the end of a log that was deleted. A leader that does not know its end yet responds with an error.
        const named = { partitions: [{ partition }], isolation: "uncommitted" } as const;
        const [[, high] = [partition, 0]] = await listOffsetsAt(broker, topic, {
          ...named,
          timestamp: latest,
        });
        if (topicId !== undefined && canFetchById(broker)) {
          const rights = { TOPIC_AUTHORIZATION_FAILED: `Read on ${quoteTopic(topic)}` };
          const proof = proveBounds(broker, topicId, { partition, end: high });
          const bounds = await proof.catch((error: unknown) => {
            throw toKafkaError(error, rights);
          });
          return { ...bounds, topicId, ...rest };
        }
        const [[, low] = [partition, 0]] = await listOffsetsAt(broker, topic, {
          ...named,
          timestamp: earliest,
        });
        return { low, high, topicId: undefined, ...rest };
      }),

    confirmLog: (topic, partition, log) =>
      ask(describe(topic), async () => {
        const { brokers } = await askAny([]);
        const answers = await Promise.allSettled(
          brokers.map(async ({ nodeId }) => requestMetadata(await findBroker(nodeId), [topic])),
        );
        const views = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
        if (views.length * 2 > brokers.length && views.every((view) => agrees(view, partition, log))) return;
        throw new KafkaUnavailableError(`the brokers do not agree yet on ${quoteTopic(topic)}`);
      }),

    async fetchStableOffset(query) {
      await cluster.connect();
      const coordinator = await cluster.findGroupCoordinator({ groupId: query.groupId });
      return requestStableOffset(coordinator, query);
    },

    close: () => cluster.disconnect(),
  };
}

/** The partition of the only topic, which has a leader. Throws kafkajs' errors. */
function findPartition({ topics: [topic] }: Metadata, partition: number): PartitionMetadata {
  failOnError(topic?.error ?? leaderNotAvailable);
  const found = topic?.partitions.find((one) => one.partition === partition);
  if (found === undefined) throw new KafkaUnavailableError("Kafka does not know the partition");
  // Replicas that are offline are reported as an error, too.
  if (found.leader < 0) failOnError(found.error === 0 ? leaderNotAvailable : found.error);
  return found;
}

/** Whether what a broker knows does not contradict the log. One without topic ids, in a cluster that is being upgraded, may. */
function agrees({ topics: [topic] }: Metadata, partition: number, log: PartitionLog): boolean {
  const found = topic?.partitions.find((one) => one.partition === partition);
  if (topic === undefined || topic.error !== 0 || found === undefined) return false;
  const isSameTopic =
    topic.topicId === undefined || log.topicId === undefined || topic.topicId === log.topicId;
  return isSameTopic && found.leader === log.leader && found.leaderEpoch <= log.leaderEpoch;
}

/** Asks a leader for the offset that its partitions have for a timestamp; -1 where no record is that young. */
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

const toOffset = (found: number | undefined, end: number): number =>
  found === undefined || found < 0 ? end : found;

/** A fetch at the end of a log returns nothing but its bounds. An error means that the end is that of another log. */
async function proveBounds(
  broker: ClusterBroker,
  topicId: string,
  { partition, end }: { readonly partition: number; readonly end: number },
) {
  const { error, topics } = await requestFetch(broker, {
    maxWaitMs: 0,
    minBytes: 0,
    maxBytes: 1,
    isolationLevel: isolationLevels.committed,
    rackId: "",
    topics: [{ topicId, partitions: [{ partition, offset: end, maxBytes: 1 }] }],
  });
  const fetched = topics[0]?.partitions[0];
  if (fetched?.error === topicAuthorizationFailed) failOnError(fetched.error);
  if (error !== 0 || fetched === undefined || fetched.error !== 0)
    throw new KafkaUnavailableError("the log of the partition is being replaced");
  return { low: Number(fetched.logStartOffset), high: Number(fetched.highWatermark) };
}
