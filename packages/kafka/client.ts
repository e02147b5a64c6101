import kafkajs, { type Admin, type KafkaConfig as KafkaJsConfig, type RetryOptions } from "kafkajs";

import type { Logger } from "@topicsync/lib/logger";
import { retryUntilAvailable } from "@topicsync/lib/concurrency/retry";
import type { KafkaConfig, NewEgress } from "./interface/config.ts";
import type { RoutingTransactions } from "./interface/routing-transactions.ts";
import type { Position } from "./interface/positions.ts";
import type { GroupMember, LogObserver, LogReader, LogWatch, RecordProducer } from "./interface/records.ts";
import { replaceConnections } from "./certificate-rotation.ts";
import { createSasl, followTls } from "./credentials.ts";
import { quoteGroup, toKafkaError } from "./errors.ts";
import { createLibraryLog } from "./library-log.ts";
import { createOutputCheck } from "./lost-ends.ts";
import { readLog, readRanges } from "./reader.ts";
import { createRequests, type KafkaRequests } from "./requests.ts";
import { toPosition } from "./committed-position.ts";
import { KafkaMember, type MemberSettings, type ReaderSettings } from "./consumer.ts";
import { createProducer } from "./producer.ts";
import { PartitionTransactions, type RoutedPartition } from "./transactions.ts";
import { createSockets, type KafkaClient, type Sockets } from "./sockets.ts";
import {
  EgressTopicsDirectory,
  type AutomaticCreation,
  type EgressTopicsAdmin,
} from "./admin/egress-topics.ts";
import { ensureTopics } from "./admin/topics.ts";
import { createObserver, createWatch } from "./admin/watch.ts";
import { reportAuthentication } from "./workarounds/authentication.ts";
import { boundFetches } from "./workarounds/bounded-fetches.ts";
import { askForVersions, forgetGoneBrokers } from "./workarounds/brokers.ts";
import { connectToIpv6, createCluster, rememberCoordinators } from "./workarounds/clusters.ts";
import {
  forgetCutResponses,
  repeatAfterUnreadableResponses,
  stopIdleChecks,
} from "./workarounds/connections.ts";
import { fetchByTopicId } from "./workarounds/fetches.ts";
import { correctJoins, rejoinWithoutPartitions } from "./workarounds/members.ts";
import { keepLeaderlessPartitions } from "./workarounds/metadata.ts";
import { encodeRequestsAtOnce } from "./workarounds/produce-encoder.ts";
import { deliverEmptyBatches, endStoppedFetchers, spareBusyPartitions } from "./workarounds/runner.ts";

/** The client for Kafka. */
export interface Broker extends LogReader {
  /** Waits until a broker responds; ends early when aborted. */
  reach(abort: AbortSignal): Promise<void>;
  /**
   * Waits until a broker responds, then creates missing topics; ends early when aborted. Throws a
   * ConfigurationError.
   */
  connect(abort: AbortSignal): Promise<void>;
  /** Throws UnavailableError when no broker responds. */
  ping(): Promise<void>;
  /** Creates a member of a consumer group that reads one topic. */
  createMember(read: MemberSettings): GroupMember;
  /** Bounds and settings of the topic that the sync reads. */
  watch(topic: string): LogWatch;
  /** Observes a topic and the group that reads it, over separate connections. */
  observe(read: ReaderSettings): LogObserver;
  /** Sends records to a topic. Connects with the first record. */
  createProducer(topic: string): RecordProducer;
  /** The transactional producer of a partition. Connects with the first claim. */
  createTransactions(routed: RoutedPartition): RoutingTransactions;
  /**
   * Looks up the Kafka topics that events are forwarded to, and creates missing ones if that is configured.
   */
  createEgressTopics(create: NewEgress | undefined, automatic?: AutomaticCreation): EgressTopicsAdmin;
  /** The committed offsets of a group in the partitions of a topic. Throws UnavailableError. */
  fetchCommittedOffsets(read: ReaderSettings): Promise<ReadonlyMap<number, Position>>;
  /** Deletes a group without members. Best effort: the user may lack the right. Never throws. */
  deleteGroup(groupId: string): Promise<void>;
  close(): Promise<void>;
}

/** For callers with their own retries: kafkajs retries at several levels, which multiply. */
const fastRetry: RetryOptions = { initialRetryTime: 200, maxRetryTime: 1_000, retries: 2 };
/** For callers that report the error. */
const slowRetry: RetryOptions = { initialRetryTime: 200, maxRetryTime: 5_000, retries: 5 };

/** Changes kafkajs in the whole process; see packages/kafka/workarounds. */
function applyWorkarounds(maxBatchBytes: number): void {
  boundFetches(maxBatchBytes);
  encodeRequestsAtOnce();
  fetchByTopicId();
  deliverEmptyBatches();
  keepLeaderlessPartitions();
  correctJoins();
  rejoinWithoutPartitions();
  spareBusyPartitions();
  forgetCutResponses();
  repeatAfterUnreadableResponses();
  stopIdleChecks();
  endStoppedFetchers();
  forgetGoneBrokers();
  askForVersions();
  reportAuthentication();
}

type BrokerConfig = KafkaConfig & {
  readonly brokers: readonly string[];
  /** The broker is started together with the service. */
  readonly isEmbedded?: boolean;
};

/** Returns a factory of kafkajs clients, each with its own connections. */
function createClientFactory(config: BrokerConfig, log: Logger, sockets: Sockets) {
  const logEntry = createLibraryLog({ brokers: config.brokers, isClosed: () => sockets.isClosed, log });
  const options: KafkaJsConfig = {
    clientId: config.clientId,
    brokers: [...config.brokers],
    connectionTimeout: 3_000,
    requestTimeout: 15_000,
    logLevel: kafkajs.logLevel.INFO,
    ...(config.sasl && { sasl: createSasl(config.sasl, log) }),
    logCreator: () => logEntry,
  };
  return (retry: RetryOptions): KafkaClient => {
    const clientSockets = sockets.createClientSockets();
    const kafka = new kafkajs.Kafka({ ...options, retry, socketFactory: clientSockets.open });
    connectToIpv6(kafka, config.brokers);
    return {
      kafka,
      dropConnection: ({ payload }) => {
        clientSockets.drop(payload.broker);
      },
      close: () => {
        clientSockets.close();
      },
    };
  };
}

function createAdmin({ kafka, dropConnection }: KafkaClient): Admin {
  const admin = kafka.admin();
  admin.on(admin.events.REQUEST_TIMEOUT, dropConnection);
  return admin;
}

const connectRequests = ({ kafka, dropConnection }: KafkaClient): KafkaRequests =>
  createRequests(() => createCluster(kafka, dropConnection));

/** Throws if no broker responds over a new connection. */
async function connectOnce(client: KafkaClient): Promise<void> {
  const requests = connectRequests(client);
  try {
    await requests.fetchMetadata([]);
  } catch (error) {
    throw toKafkaError(error);
  } finally {
    await requests.close();
  }
}

/** Creates the client. Connects lazily. A simulation gives it other sockets. */
export function createBroker(config: BrokerConfig, log: Logger, otherSockets?: Sockets): Broker {
  applyWorkarounds(config.maxBatchBytes);
  const ownSockets = createSockets(followTls(config.tls, log));
  const sockets = otherSockets ?? ownSockets;
  const createClient = createClientFactory(config, log, sockets);
  const stopFollowing =
    config.tls?.files.cert && replaceConnections(ownSockets, () => connectOnce(createClient(fastRetry)), log);
  /** For the sync and for `ping`. Observers have their own clients, which connect when first used. */
  const admin = createAdmin(createClient(fastRetry));
  const observer = createAdmin(createClient(fastRetry));
  const requests = connectRequests(createClient(fastRetry));
  const observerRequests = connectRequests(createClient(fastRetry));
  const isOutput = config.router && createOutputCheck(config.router);

  const connectAndRun = (abort: AbortSignal, work: () => Promise<void>): Promise<void> =>
    retryUntilAvailable(
      async () => {
        try {
          await admin.connect();
          await work();
        } catch (error) {
          throw toKafkaError(error);
        }
      },
      { what: "Kafka", abort, log },
    );

  return {
    reach: (abort) => connectAndRun(abort, () => Promise.resolve()),
    connect: (abort) => connectAndRun(abort, () => ensureTopics({ admin, requests }, config, log)),

    async ping() {
      await requests.fetchMetadata([]);
    },

    createMember: (read) => new KafkaMember(createClient(fastRetry), { ...read, rack: config.rack, log }),
    watch: (topic) => createWatch({ requests, admin, isEmbedded: config.isEmbedded === true }, topic),
    observe: (read) => createObserver({ requests: observerRequests, admin: observer }, read),
    fetchBounds: (topic) => observerRequests.fetchBounds(topic, "committed"),
    fetchRecords: async (topic, from) => (await observerRequests.fetchRecords(topic, from)).records,
    read: (topic, options) => readLog(observerRequests, topic, options),
    findFirstSince: (topic, timestamp) => observerRequests.findFirstSince(topic, timestamp),
    readRanges: (topic, options) => readRanges(observerRequests, topic, options),
    createProducer: (topic) => createProducer(createClient(slowRetry), topic),
    createTransactions: (routed) =>
      new PartitionTransactions({
        ...routed,
        createClient() {
          const client = createClient(fastRetry);
          rememberCoordinators(client.kafka);
          return client;
        },
        requests,
        isOutput,
        log,
      }),
    createEgressTopics: (create, automatic) =>
      new EgressTopicsDirectory({ requests, create, automatic, log }),
    fetchCommittedOffsets: (read) => fetchCommittedOffsets(observer, read),
    async deleteGroup(groupId) {
      await observer.deleteGroups([groupId]).catch(() => undefined);
    },
    async close() {
      stopFollowing?.();
      // The sockets are closed first, because kafkajs does not disconnect while a request is pending.
      sockets.close();
      await Promise.all([
        admin.disconnect(),
        observer.disconnect(),
        requests.close(),
        observerRequests.close(),
      ]);
    },
  };
}

async function fetchCommittedOffsets(
  admin: Admin,
  { topic, groupId }: ReaderSettings,
): Promise<ReadonlyMap<number, Position>> {
  const fetched = await admin.fetchOffsets({ groupId, topics: [topic] }).catch((error: unknown) => {
    throw toKafkaError(error, { GROUP_AUTHORIZATION_FAILED: `Describe on ${quoteGroup(groupId)}` });
  });
  const found = new Map<number, Position>();
  for (const { partition, offset, metadata } of fetched.flatMap(({ partitions }) => partitions)) {
    const position = toPosition({ offset: Number(offset), metadata: metadata ?? "" });
    if (position !== undefined) found.set(partition, position);
  }
  return found;
}
