/**
 * kafkajs' own transactional producer over a simulated cluster: its sequence numbers, retries and locks are the real ones. Its
 * protocol, connections and metadata are simulated.
 */
import type { ICustomPartitioner, Kafka, Message, ProducerConfig, TopicOffsets } from "kafkajs";

import { loadPrivate } from "../../../src/kafka/workarounds/patch.ts";
import { createRequests, type KafkaRequests } from "../../../src/kafka/requests.ts";
import type { KafkaClient } from "../../../src/kafka/sockets.ts";
import type { Host } from "../clock.ts";
import { ConnectionLostError, type Network } from "../network.ts";
import type { Random } from "../random.ts";
import { BrokerUnreachableError, type CommittedOffset, type Coordinator } from "./coordinator.ts";
import { createProtocolError } from "./protocol-error.ts";
import { decodeOffsetFetch, encodeOffsetFetched } from "./stable-offset-messages.ts";

export interface ProducerClientOptions {
  readonly network: Network;
  readonly random: Random;
  readonly coordinator: Coordinator;
  /** The brokers that lead partitions: those of odd partitions belong to the second. The first is also the coordinator. */
  readonly leaders: readonly [Host, Host];
  readonly process: Host;
  readonly onConnected: (change: 1 | -1) => void;
}

type CreateProducer = (
  options: ProducerConfig & {
    readonly cluster: object;
    readonly logger: object;
    readonly createPartitioner: ICustomPartitioner;
  },
) => ReturnType<Kafka["producer"]>;

const createKafkaJsProducer = loadPrivate("producer/index") as CreateProducer;
const { KafkaJSConnectionError, KafkaJSConnectionClosedError, KafkaJSRequestTimeoutError } = loadPrivate(
  "errors",
) as Record<string, new (message: string, details?: object) => Error>;

/** As `fastRetry` in src/kafka/client.ts. Without a factor, kafkajs takes no chance of its own. */
const retry = { initialRetryTime: 200, maxRetryTime: 1_000, retries: 2, factor: 0 };

const silent = {
  namespace: () => silent,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

interface Identity {
  readonly transactionalId: string;
  readonly producerId: string;
  readonly producerEpoch: number;
}

interface ProduceRequest extends Identity {
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly firstSequence: number;
      readonly messages: readonly Message[];
    }[];
  }[];
}

const toIdentity = ({ transactionalId, producerId, producerEpoch }: Identity) => ({
  transactionalId,
  producerId: Number(producerId),
  epoch: producerEpoch,
});

const toKey = (topic: string, partition: number): string => `${topic}-${partition}`;

export function createProducerClient(options: ProducerClientOptions): {
  readonly createClient: () => KafkaClient;
  readonly requests: KafkaRequests;
} {
  const { network, random, coordinator, leaders, process } = options;

  async function call<T>(server: Host, execute: () => T): Promise<T> {
    try {
      return await network.call(server, execute);
    } catch (error) {
      throw toKafkaJsError(error);
    }
  }

  const ask = <T>(execute: () => T): Promise<T> => call(leaders[0], execute);

  function createNode(nodeId: 0 | 1) {
    return {
      nodeId,
      initProducerId: ({ transactionalId }: Pick<Identity, "transactionalId">) =>
        ask(() => {
          const { producerId, epoch } = coordinator.initialise(transactionalId, process);
          return { producerId: String(producerId), producerEpoch: epoch };
        }),
      addPartitionsToTxn: ({
        topics,
        ...identity
      }: Identity & {
        readonly topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[];
      }) =>
        ask(() => {
          const partitions = topics.flatMap(({ topic, partitions: numbers }) =>
            numbers.map((partition) => ({ topic, partition })),
          );
          coordinator.addPartitions(toIdentity(identity), partitions, process);
        }),
      addOffsetsToTxn: (identity: Identity) =>
        ask(() => {
          coordinator.addOffsets(toIdentity(identity), process);
        }),
      txnOffsetCommit: ({ topics, ...identity }: Identity & { readonly topics: readonly TopicOffsets[] }) =>
        ask(() => {
          coordinator.commitOffsets(toIdentity(identity), toOffsets(topics));
        }),
      endTxn: ({ transactionResult, ...identity }: Identity & { readonly transactionResult: boolean }) =>
        ask(() => {
          coordinator.end(toIdentity(identity), transactionResult);
        }),
      produce: (request: ProduceRequest) => produce(nodeId, request),
      connectionPool: {
        send: (request: OffsetFetchRequest) => fetchOffset(request),
      },
    };
  }

  async function fetchOffset({ request, response }: OffsetFetchRequest): Promise<CommittedOffset> {
    const { buffer } = await request.encode();
    const { topic, partition, requireStable } = decodeOffsetFetch(buffer);
    const answer = await ask(() => coordinator.fetchOffset(toKey(topic, partition), requireStable));
    return response.decode(encodeOffsetFetched({ topic, partition, ...answer }));
  }

  /** As in Kafka, each partition has a result, and as in kafkajs the first error is thrown. */
  async function produce(nodeId: 0 | 1, { topicData, ...identity }: ProduceRequest) {
    const topics = await call(leaders[nodeId], () => {
      coordinator.requireUp();
      return topicData.map(({ topic, partitions }) => ({
        topicName: topic,
        partitions: partitions.map(({ partition, firstSequence, messages }) => ({
          partition,
          ...attempt(() => {
            const log = coordinator.topics.get(topic)?.logs[partition];
            if (log === undefined) throw createProtocolError("UNKNOWN_TOPIC_OR_PARTITION");
            // Leadership moves, and the client finds out by asking again.
            if (random.chance(0.01)) throw createProtocolError("NOT_LEADER_FOR_PARTITION");
            return coordinator.produce(toIdentity(identity), log, firstSequence, messages);
          }),
        })),
      }));
    });
    const failed = topics.flatMap(({ partitions }) => partitions).find(({ error }) => error !== undefined);
    if (failed?.error !== undefined) throw failed.error;
    return { topics };
  }

  function createCluster(onConnected: (change: 1 | -1) => void = () => undefined) {
    const nodes = [createNode(0), createNode(1)] as const;
    const targets = new Set<string>();
    let metadata = new Map<string, number>();
    let isConnected = false;

    async function refreshMetadata(): Promise<void> {
      metadata = await ask(() => {
        coordinator.requireUp();
        return new Map(
          [...targets].map((topic) => {
            const found = coordinator.topics.get(topic);
            if (found === undefined) throw createProtocolError("UNKNOWN_TOPIC_OR_PARTITION");
            return [topic, found.logs.length];
          }),
        );
      });
    }

    function setConnected(value: boolean): void {
      if (isConnected !== value) onConnected(value ? 1 : -1);
      isConnected = value;
    }

    return {
      retry,
      async connect() {
        await ask(coordinator.requireUp);
        setConnected(true);
      },
      disconnect: () => {
        setConnected(false);
        return Promise.resolve();
      },
      isConnected: () => isConnected,
      refreshMetadata,
      refreshMetadataIfNecessary: () => Promise.resolve(),
      async addMultipleTargetTopics(topics: readonly string[]) {
        const added = topics.filter((topic) => !targets.has(topic));
        if (added.length === 0) return;
        for (const topic of added) targets.add(topic);
        await refreshMetadata().catch((error: unknown) => {
          for (const topic of added) targets.delete(topic);
          throw error;
        });
      },
      findTopicPartitionMetadata: (topic: string) =>
        Array.from({ length: metadata.get(topic) ?? 0 }, (_, partitionId) => ({ partitionId })),
      findLeaderForPartitions: (_: string, partitions: readonly string[]) =>
        Object.groupBy(partitions.map(Number), (partition) => partition % 2),
      findBroker: ({ nodeId }: { readonly nodeId: string }) =>
        Promise.resolve(nodes[Number(nodeId) === 0 ? 0 : 1]),
      async findGroupCoordinator() {
        await ask(coordinator.requireUp);
        return nodes[0];
      },
      removeBroker: () => undefined,
      markOffsetAsCommitted: () => undefined,
    };
  }

  const kafka = {
    producer: (config: ProducerConfig & { readonly createPartitioner: ICustomPartitioner }) =>
      createKafkaJsProducer({
        ...config,
        retry: { ...retry, ...config.retry },
        logger: silent,
        cluster: createCluster(options.onConnected),
      }),
  };
  return {
    createClient: () => ({ kafka: kafka as unknown as Kafka, dropConnection: () => undefined }),
    requests: createRequests(() => createCluster()),
  };
}

interface OffsetFetchRequest {
  readonly request: { readonly encode: () => Promise<{ readonly buffer: Buffer }> };
  readonly response: { readonly decode: (bytes: Buffer) => Promise<CommittedOffset> };
}

function attempt(append: () => number): { readonly baseOffset: string; readonly error: Error | undefined } {
  try {
    return { baseOffset: String(append()), error: undefined };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { baseOffset: "-1", error };
  }
}

const toOffsets = (topics: readonly TopicOffsets[]): ReadonlyMap<string, CommittedOffset> =>
  new Map(
    topics.flatMap(({ topic, partitions }) =>
      partitions.map(
        ({
          partition,
          offset,
          metadata,
        }: TopicOffsets["partitions"][number] & { readonly metadata?: string }) => [
          toKey(topic, partition),
          { offset: Number(offset), metadata: metadata ?? "" },
        ],
      ),
    ),
  );

function toKafkaJsError(error: unknown): unknown {
  if (error instanceof BrokerUnreachableError)
    return createError(KafkaJSConnectionError, "Connection refused", { code: "ECONNREFUSED" });
  if (!(error instanceof ConnectionLostError)) return error;
  return error.message === "no response in time"
    ? createError(KafkaJSRequestTimeoutError, "Request timed out", {})
    : createError(KafkaJSConnectionClosedError, "Closed connection", {});
}

function createError(
  ErrorClass: (new (message: string, details?: object) => Error) | undefined,
  message: string,
  details: object,
): Error {
  if (ErrorClass === undefined) throw new Error("kafkajs lacks an error class");
  return new ErrorClass(message, details);
}
