import kafkajs, {
  type Admin,
  type Kafka,
  type KafkaConfig as KafkaJsConfig,
  type LogEntry,
  type RetryOptions,
  type SASLOptions,
} from "kafkajs";

import type { KafkaConfig } from "../config.ts";
import type { Logger } from "../lib/logger.ts";
import type { GroupMember, LogObserver, LogReader, LogWatch, RecordProducer } from "../sync/records.ts";
import { retryUntilAvailable } from "../lib/retry.ts";
import { hideAbortedTransactions } from "./workarounds/aborted-transactions.ts";
import { keepGroupDenials } from "./workarounds/denied-groups.ts";
import { toKafkaError } from "./errors.ts";
import { boundFetches } from "./workarounds/bounded-fetches.ts";
import { readBounds, readLog } from "./reader.ts";
import { createMember } from "./consumer.ts";
import { createProducer } from "./producer.ts";
import { createSockets, type KafkaClient } from "./sockets.ts";
import { stopIdleChecks } from "./workarounds/request-queue.ts";
import { ensureTopics } from "./admin/topics.ts";
import { createUncommittedAdmin } from "./workarounds/uncommitted-admin.ts";
import { createObserver, createWatch } from "./admin/watch.ts";

/** The only access to Kafka. */
export interface Broker extends LogReader {
  /** Waits until a broker answers, and creates nothing; ends early when aborted. */
  reach(abort: AbortSignal): Promise<void>;
  /** Waits until a broker answers and creates missing topics; ends early when aborted. Throws a ConfigurationError. */
  connect(abort: AbortSignal): Promise<void>;
  /** Resolves when a broker answers; throws UnavailableError. */
  ping(): Promise<void>;
  /** A member of a consumer group, reading one topic. */
  member(read: ReaderSettings): GroupMember;
  /** Bounds and settings of the topic that the sync reads. */
  watch(topic: string): LogWatch;
  /** A topic and the group that reads it, for observers: over connections of their own. */
  observe(read: ReaderSettings): LogObserver;
  /** Sends records to a topic. Connects with the first record. */
  producer(topic: string): RecordProducer;
  close(): Promise<void>;
}

/** A topic, and the consumer group that reads it. */
export interface ReaderSettings {
  readonly topic: string;
  readonly groupId: string;
}

/** For callers that retry themselves: the retries of kafkajs are nested and multiply. */
const fastRetry: RetryOptions = { initialRetryTime: 200, maxRetryTime: 1_000, retries: 2 };
/** For callers that report the error. */
const slowRetry: RetryOptions = { initialRetryTime: 200, maxRetryTime: 5_000, retries: 5 };

/** Creates the client. Connects lazily. */
export function createBroker(
  config: KafkaConfig & { readonly brokers: readonly string[] },
  log: Logger,
): Broker {
  boundFetches(config.maxBatchBytes);
  hideAbortedTransactions();
  keepGroupDenials();
  stopIdleChecks();
  const sockets = createSockets();
  const options: KafkaJsConfig = {
    ...clientOptions(config),
    logCreator: () => (entry) => {
      logEntry(log, entry, !sockets.isClosed && !isDuplicateLogEntry(entry, config));
    },
  };
  const client = (retry: RetryOptions): KafkaClient => {
    const own = sockets.ofClient();
    return {
      kafka: new kafkajs.Kafka({ ...options, retry, socketFactory: own.open }),
      giveUp: ({ payload }) => {
        own.giveUp(payload.broker);
      },
    };
  };
  const newAdmin = (create = (kafka: Kafka): Admin => kafka.admin()): Admin => {
    const { kafka, giveUp } = client(fastRetry);
    const admin = create(kafka);
    admin.on(admin.events.REQUEST_TIMEOUT, giveUp);
    return admin;
  };
  /** For the sync and for `ping`. Observers use clients of their own, which connect when first used. */
  const admin = newAdmin();
  const observer = newAdmin();
  const uncommitted = newAdmin(createUncommittedAdmin);

  const connectThen = (abort: AbortSignal, work: () => Promise<void>): Promise<void> =>
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
    reach: (abort) => connectThen(abort, () => Promise.resolve()),
    connect: (abort) => connectThen(abort, () => ensureTopics(admin, config, log)),

    async ping() {
      await admin.describeCluster().catch((error: unknown) => {
        throw toKafkaError(error);
      });
    },

    member: (read) => createMember(client(fastRetry), { ...read, log }),
    watch: (topic) => createWatch(admin, topic),
    observe: (read) => createObserver({ committed: observer, uncommitted }, read),
    bounds: (topic) => readBounds(observer, topic),
    read: (topic, options) =>
      readLog({ client: client(fastRetry), admin: observer, groupId: config.groupId, log }, topic, options),
    producer: (topic) => createProducer(client(slowRetry), topic),
    async close() {
      // First: a connection that waits for an answer keeps kafkajs from disconnecting.
      sockets.close();
      await Promise.all([admin, observer, uncommitted].map((one) => one.disconnect()));
    },
  };
}

function clientOptions(config: KafkaConfig & { readonly brokers: readonly string[] }): KafkaJsConfig {
  return {
    clientId: config.clientId,
    brokers: [...config.brokers],
    connectionTimeout: 3_000,
    requestTimeout: 15_000,
    logLevel: kafkajs.logLevel.INFO,
    ...(config.tls === undefined ? {} : { ssl: config.tls }),
    ...(config.sasl === undefined ? {} : { sasl: config.sasl as SASLOptions }),
  };
}

/**
 * kafkajs logs as errors what it retries itself: "Connection" every retriable response, "BrokerPool" every attempt to
 * connect. With a single broker, our own log line has the reason.
 */
const isDuplicateLogEntry = (
  { namespace, log: { message } }: LogEntry,
  { brokers }: { readonly brokers: readonly string[] },
): boolean =>
  namespace === "Connection" ||
  (brokers.length === 1 && message.startsWith("Failed to connect to seed broker"));

/** kafkajs logs at "info" what only its developers need. */
function logEntry(log: Logger, { level, namespace, log: entry }: LogEntry, isNews: boolean): void {
  const { message, ...rest } = entry as Record<string, unknown> & { readonly message: string };
  const details = {
    kafkajs: namespace,
    reason: rest["error"],
    groupId: rest["groupId"],
    broker: rest["broker"],
  };
  const isWarning = level === kafkajs.logLevel.ERROR || level === kafkajs.logLevel.WARN;
  if (isWarning && isNews) log.warn(details, `kafkajs: ${message}`);
  else log.debug(details, `kafkajs: ${message}`);
}
