import kafkajs, {
  type Admin,
  type Kafka,
  type KafkaConfig as KafkaJsConfig,
  type LogEntry,
  type RetryOptions,
  type SASLOptions,
} from "kafkajs";

import type { KafkaConfig } from "../config.ts";
import type { Logger } from "../logger.ts";
import type {
  GroupMember,
  LogObserver,
  LogReader,
  LogWatch,
  LogWriter,
  Publisher,
  RecordSink,
} from "../records.ts";
import { untilAvailable } from "../retry.ts";
import { hideAbortedTransactions } from "./aborted-transactions.ts";
import { unavailable } from "./failures.ts";
import { boundFetches } from "./fetch-decoding.ts";
import { boundsOf, readLog } from "./log-reader.ts";
import { createWriter } from "./log-writer.ts";
import { createMember } from "./member.ts";
import { createPublisher } from "./publisher.ts";
import { createSink } from "./sink.ts";
import { createSockets, type KafkaClient } from "./sockets.ts";
import { quietTimers } from "./timers.ts";
import { createUncommittedAdmin } from "./uncommitted-admin.ts";
import { createObserver, createWatch } from "./watch.ts";

/** The one door to Kafka. */
export interface Broker extends LogReader {
  /** Waits until a broker answers, and makes nothing; ends early when aborted. */
  reach(abort: AbortSignal): Promise<void>;
  /** Waits until a broker answers and makes sure of the topics; ends early when aborted. */
  connect(abort: AbortSignal): Promise<void>;
  /** Resolves when a broker answers; throws Unavailable. */
  ping(): Promise<void>;
  /** A member of a consumer group, reading one topic. */
  member(read: Reading): GroupMember;
  /** What the sync asks of the topic that it reads. */
  watch(topic: string): LogWatch;
  /** A topic and the group that reads it, from outside. */
  observe(read: Reading): LogObserver;
  /** Sends to a topic; connected with the first record. */
  sink(topic: string): RecordSink & { close(): Promise<void> };
  /** Sends to a topic and tells where each record lies; connected with the first record. */
  publisher(topic: string): Publisher & { close(): Promise<void> };
  /** Appends to a topic's partitions; connected with the first record. */
  writer(topic: string): LogWriter & { close(): Promise<void> };
  close(): Promise<void>;
}

/** A topic, and the consumer group that reads it. */
export interface Reading {
  readonly topic: string;
  readonly groupId: string;
}

/** Dead letters carry headers besides a record that was just small enough for its own topic. */
const forDeadLetters = { "retention.ms": "-1", "max.message.bytes": "2097152" } as const;

/** For those who try again by themselves: kafkajs' own retries lie within one another, and multiply. */
const hasty: RetryOptions = { initialRetryTime: 200, maxRetryTime: 1_000, retries: 2 };
/** For those whose caller gets the error. */
const patient: RetryOptions = { initialRetryTime: 200, maxRetryTime: 5_000, retries: 5 };

/** Makes the door; nothing is connected yet. */
export function createBroker(
  config: KafkaConfig & { readonly brokers: readonly string[] },
  log: Logger,
): Broker {
  boundFetches(config.maxBatchBytes);
  hideAbortedTransactions();
  quietTimers();
  const sockets = createSockets();
  const options: KafkaJsConfig = {
    ...clientOptions(config),
    logCreator: () => (entry) => {
      logEntry(log, entry, !sockets.isClosed && !isToldAnyway(entry, config));
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
    const { kafka, giveUp } = client(hasty);
    const admin = create(kafka);
    admin.on(admin.events.REQUEST_TIMEOUT, giveUp);
    return admin;
  };
  /** For the sync and for `ping`. Those who look ask by clients of their own, which connect when they are first used. */
  const admin = newAdmin();
  const observer = newAdmin();
  const uncommitted = newAdmin(createUncommittedAdmin);

  const connectThen = (abort: AbortSignal, work: () => Promise<void>): Promise<void> =>
    untilAvailable(
      async () => {
        try {
          await admin.connect();
          await work();
        } catch (error) {
          throw unavailable(error);
        }
      },
      { what: "Kafka", abort, log },
    );

  return {
    reach: (abort) => connectThen(abort, () => Promise.resolve()),
    connect: (abort) => connectThen(abort, () => ensureTopics(admin, config, log)),

    async ping() {
      await admin.describeCluster().catch((error: unknown) => {
        throw unavailable(error);
      });
    },

    member: (read) => createMember(client(hasty), { ...read, log }),
    watch: (topic) => createWatch(admin, topic),
    observe: (read) => createObserver({ committed: observer, uncommitted }, read),
    bounds: (topic) => boundsOf(observer, topic),
    read: (topic, options) =>
      readLog({ client: client(hasty), admin: observer, groupId: config.groupId, log }, topic, options),
    publisher: (topic) => createPublisher(client(patient), admin, topic),
    sink: (topic) => createSink(client(patient), topic),
    writer: (topic) => createWriter(client(patient), topic),
    async close() {
      // First: a connection that waits for an answer keeps kafkajs from disconnecting.
      sockets.close();
      await Promise.all([admin, observer, uncommitted].map((one) => one.disconnect()));
    },
  };
}

/** Subscribing to a topic that is not there fails, so both are made first. Those that exist are left as they are. */
async function ensureTopics(admin: Admin, config: KafkaConfig, log: Logger): Promise<void> {
  const { announcementsTopic, deadLetterTopic, pushFeedback } = config;
  const existing = new Set(await admin.listTopics());
  const wanted = [
    // One partition, compacted: a total order, and the last definition of every topic is kept for ever.
    { topic: announcementsTopic, config: { "cleanup.policy": "compact" } },
    { topic: deadLetterTopic, config: forDeadLetters },
    // Reports are kept as long as the broker keeps anything: a token that is still dead is reported again.
    ...(pushFeedback === undefined
      ? []
      : [
          { topic: pushFeedback.topic, config: {} },
          { topic: pushFeedback.deadLetterTopic, config: forDeadLetters },
        ]),
  ];
  const missing = wanted.filter(({ topic }) => !existing.has(topic));
  if (missing.length > 0) {
    await admin.createTopics({
      topics: missing.map(({ topic, config: entries }) => ({
        topic,
        numPartitions: 1,
        configEntries: Object.entries(entries).map(([name, value]) => ({ name, value })),
      })),
    });
    log.info({ topics: missing.map(({ topic }) => topic) }, "created Kafka topics");
  }
  if (existing.has(announcementsTopic)) await checkCompaction(admin, announcementsTopic, log);
}

async function checkCompaction(admin: Admin, topic: string, log: Logger): Promise<void> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: ["cleanup.policy"] }],
  });
  const policy = resources[0]?.configEntries.find(
    ({ configName }) => configName === "cleanup.policy",
  )?.configValue;
  if (policy !== undefined && !policy.includes("compact")) {
    log.warn(
      { topic, "cleanup.policy": policy },
      "the announcements topic is not compacted: definitions disappear from it with time, so an emptied database could not be filled again",
    );
  }
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
 * kafkajs calls errors what it retries by itself: its "Connection" even every answer that asks for patience, its
 * "BrokerPool" every attempt to connect. Where no other broker is tried, our own line has the reason.
 */
const isToldAnyway = (
  { namespace, log: { message } }: LogEntry,
  { brokers }: { readonly brokers: readonly string[] },
): boolean =>
  namespace === "Connection" ||
  (brokers.length === 1 && message.startsWith("Failed to connect to seed broker"));

/** kafkajs tells at "info" what only its developers need. */
function logEntry(log: Logger, { level, namespace, log: entry }: LogEntry, isWorthTelling: boolean): void {
  const { message, ...rest } = entry as Record<string, unknown> & { readonly message: string };
  const details = {
    kafkajs: namespace,
    reason: rest["error"],
    groupId: rest["groupId"],
    broker: rest["broker"],
  };
  const isTrouble = level === kafkajs.logLevel.ERROR || level === kafkajs.logLevel.WARN;
  if (isTrouble && isWorthTelling) log.warn(details, `kafkajs: ${message}`);
  else log.debug(details, `kafkajs: ${message}`);
}
