import assert from "node:assert/strict";
import { before } from "node:test";

import type { SyncStatus } from "../../schemas/sync-status.ts";
import { call, type Call } from "./http.ts";
import { createKafkaTopics, recreateKafkaTopic } from "./kafka-topics.ts";
import { unique } from "./names.ts";
import { until } from "./poll.ts";
import {
  addUser,
  bootstrap,
  ownNames,
  startTopicsync,
  startTopicsyncHere,
  type ServiceProcess,
  type TestService,
} from "./service.ts";
import { sharedStack, testDatabase, testKafka, type StackAddresses } from "./stack.ts";

interface TopicRecord {
  topic_id: string;
  topic_name: string;
  source: unknown;
}

export interface PositionRecord {
  _id: { group: string; topic: string; partition: number };
  next_offset?: number;
  epoch?: number;
  sessions?: unknown[];
}

/** The definition of a topic, as it is sent over HTTP and announced. */
export const definition = (id = unique("topic"), name = "Topic") => ({
  externalId: id,
  name: `${name} ${id}`,
  namespace: "inventory",
  headerQuery: "eventType=ResourceCreateEvent",
  contentQuery: `resource.id=${id}`,
});

const maxRecordsPerRequest = 1_000;

type Settings = Readonly<Record<string, string>>;

/** A new database, names of new Kafka topics, and the settings of a service that uses them. */
function createSettings(stack: StackAddresses, moreSettings: Settings) {
  const { uri, db } = testDatabase(stack.mongodb);
  const settings = { ...ownNames(), MONGODB_URI: uri, KAFKA_BROKERS: stack.kafka, ...moreSettings };
  return { uri, db, settings };
}

async function startReady<S extends TestService>(starting: Promise<S>): Promise<S> {
  const service = await starting;
  await service.ready();
  return service;
}

/** Connects to a broker and a store until the tests of this file end; `scene` creates scenes there. */
export function stage(stack: StackAddresses = sharedStack()) {
  const { kafka, admin, producer } = testKafka(stack.kafka);
  before(async () => {
    await Promise.all([admin.connect(), producer.connect()]);
  });

  const scene = (moreSettings: Settings = {}) => {
    const { uri, db, settings } = createSettings(stack, moreSettings);
    const {
      KAFKA_ANNOUNCEMENTS_TOPIC: topic = "",
      KAFKA_DEAD_LETTER_TOPIC: deadLetterTopic = "",
      KAFKA_GROUP_ID: group = "",
    }: Settings = settings;
    const topics = db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
    const retired = db.collection<{ topic_id: string }>("svc_api_notif_mgmt_topic_retired");
    const positions = db.collection<PositionRecord>("topicsync_positions");
    const key = { group, topic, partition: 0 };
    /** The announced topics that are not retired: name by external id. */
    const announced = new Map<string, string>();

    const count = (): Promise<number> => topics.countDocuments();
    /**
     * The number of applied announcements. Some stores count topics by reading each, so this sums up the
     * positions.
     */
    const applied = async (): Promise<number> =>
      (await positions.find({ "_id.topic": topic }).toArray()).reduce(
        (sum, { next_offset = 0 }) => sum + next_offset,
        0,
      );
    const deadLetters = async (): Promise<number> => {
      const [offsets] = await admin.fetchTopicOffsets(deadLetterTopic);
      return Number(offsets?.high);
    };

    async function produce(messages: readonly { key: string; value: string | null }[]): Promise<void> {
      for (let at = 0; at < messages.length; at += maxRecordsPerRequest)
        await producer.send({ topic, messages: messages.slice(at, at + maxRecordsPerRequest) });
    }

    /** Announces the topics id-`from` up to, but not including, id-`to`. */
    async function announce(from: number, to: number, name?: string): Promise<void> {
      const definitions = Array.from({ length: to - from }, (_, i) => definition(`id-${from + i}`, name));
      await produce(definitions.map((one) => ({ key: one.externalId, value: JSON.stringify(one) })));
      for (const one of definitions) announced.set(one.externalId, one.name);
    }

    async function retire(from: number, to: number): Promise<void> {
      const ids = Array.from({ length: to - from }, (_, i) => `id-${from + i}`);
      await produce(ids.map((key) => ({ key, value: null })));
      for (const id of ids) announced.delete(id);
    }

    async function isAtEnd(): Promise<boolean> {
      const [ends, stored] = await Promise.all([
        admin.fetchTopicOffsets(topic),
        positions.find({ "_id.topic": topic }).toArray(),
      ]);
      return ends.every(({ partition, high }) => {
        const position = stored.find(({ _id }) => _id.partition === partition);
        return (position?.next_offset ?? 0) === Number(high);
      });
    }

    const caughtUp = () => until("every position is at the end of the log", isAtEnd);

    return {
      settings,
      /** Starts a service with the scene's settings in this process, and waits until it is ready. */
      start: (overrides: Settings = {}): Promise<TestService> =>
        startReady(startTopicsyncHere({ ...settings, ...overrides })),
      /** Starts one in a process of its own, which can be killed. */
      startProcess: (overrides: Settings = {}): Promise<ServiceProcess> =>
        startReady(startTopicsync({ ...settings, ...overrides })),
      uri,
      db,
      topic,
      deadLetterTopic,
      /** The key of the position in the first partition. */
      key,
      topics,
      retired,
      positions,
      announced,
      /** Creates the announcements topic; `config` such as `{ "cleanup.policy": "compact" }`. */
      createTopic: (numPartitions = 1, config: Settings = {}) =>
        createKafkaTopics(admin, { topic, numPartitions, configEntries: toConfigEntries(config) }),
      createDeadLetterTopic: (config: Settings = {}) =>
        createKafkaTopics(admin, {
          topic: deadLetterTopic,
          numPartitions: 1,
          configEntries: toConfigEntries(config),
        }),
      /** Deletes the announcements topic and creates it again. */
      recreateTopic: (numPartitions = 1) => recreateKafkaTopic({ kafka, admin }, { topic, numPartitions }),
      announce,
      retire,
      /** Sends definitions, and tombstones for external ids. */
      send: (...sent: (string | { externalId: string; name: string; namespace?: string })[]) =>
        produce(
          sent.map((one) =>
            typeof one === "string"
              ? { key: one, value: null }
              : { key: one.externalId, value: JSON.stringify(one) },
          ),
        ),
      count,
      applied,
      deadLetters,
      stored: (expected: number) =>
        until(`${expected} topics are stored`, async () => (await count()) === expected),
      reached: (offset: number) =>
        until(
          `the position is ${offset}`,
          async () => (await positions.findOne({ _id: key }))?.next_offset === offset,
        ),
      /** Waits until every announcement is applied. */
      caughtUp,
      /**
       * Waits until every position is at the end of the log; then asserts that the topics are those
       * announced.
       */
      inStep: async (): Promise<void> => {
        await caughtUp();
        const records = await topics.find({}).toArray();
        const found = new Map(records.map((record) => [record.topic_id, record.topic_name]));
        assert.equal(records.length, found.size, "an external id is stored twice");
        assert.deepEqual(differences(found, announced), []);
        assert.equal(await deadLetters(), 0, "an announcement was rejected");
      },
    };
  };

  return { stack, kafka, admin, producer, scene };
}

export type Scene = ReturnType<ReturnType<typeof stage>["scene"]>;

const toConfigEntries = (config: Settings) =>
  Object.entries(config).map(([name, value]) => ({ name, value }));

const maxDifferences = 10;

/** The first differences: node takes minutes to print the difference of two long lists. */
function differences(found: ReadonlyMap<string, string>, announced: ReadonlyMap<string, string>): string[] {
  const ids = [...new Set([...found.keys(), ...announced.keys()])];
  return ids
    .filter((id) => found.get(id) !== announced.get(id))
    .slice(0, maxDifferences)
    .map((id) => `${id}: found ${found.get(id) ?? "nothing"}, announced ${announced.get(id) ?? "nothing"}`);
}

/** Starts a service for this file, with a database and Kafka topics of its own, before the first test. */
export function useService(moreSettings: Settings = {}, stack: StackAddresses = sharedStack()) {
  const { uri, db, settings } = createSettings(stack, moreSettings);
  let service: TestService;
  let starting: Promise<TestService> | undefined;
  async function start(): Promise<void> {
    service = await (starting ??= startReady(startTopicsyncHere(settings)));
  }
  before(start);
  return {
    /**
     * Runs before the first test, once the service is ready. Hooks of a file run concurrently; a store whose
     * collections are created by an insert and by the service at the same time may never respond.
     */
    prepare: (work: () => Promise<void>) => {
      before(async () => {
        await start();
        await work();
      });
    },
    uri,
    db,
    settings,
    get url() {
      return service.url;
    },
    get log() {
      return service.log;
    },
    /** Adds a user by the command line; `options` such as `--role`. */
    addUser: (user: string, password: string, ...options: string[]) =>
      addUser(settings, user, password, ...options),
  };
}

export const getReadiness = (service: TestService, as?: Call["as"]) =>
  call(`${service.url}/readyz`, { method: "GET", as });

/**
 * Waits until the service is not ready for this reason, and asserts that it is still healthy. Without MongoDB
 * nobody can log in, so the reason is not shown.
 */
export async function waitUntilNotReady(
  service: TestService,
  check: "mongodb" | "kafka" | "consumer" | "pushFeedback",
  reason?: RegExp,
): Promise<void> {
  await until(`the service is not ready: ${check}, ${reason?.source ?? "any reason"}`, async () => {
    const { status, json } = await getReadiness(service, reason && bootstrap);
    return status === 503 && !json.checks[check].ok && (reason?.test(json.checks[check].reason) ?? true);
  });
  const { status } = await call(`${service.url}/healthz`, { method: "GET", as: undefined });
  assert.equal(status, 200);
}

export async function waitUntilReady(service: TestService): Promise<void> {
  await until("the service is ready", async () => (await getReadiness(service)).status === 200);
}

export async function getSyncStatus(service: Pick<TestService, "url">): Promise<SyncStatus> {
  const { json } = await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET" });
  return json as SyncStatus;
}

/** The value of a metric; of its first series if `name` has no labels. NaN if there is none. */
export async function getMetric(service: Pick<TestService, "url">, name: string): Promise<number> {
  const { text } = await call(`${service.url}/metrics`, { method: "GET", as: undefined });
  const line = text.split("\n").find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`));
  return Number(line?.split(" ").at(-1));
}
