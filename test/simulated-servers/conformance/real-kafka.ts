import { randomBytes } from "node:crypto";

import kafkajs, { type Producer, type ProducerConfig } from "kafkajs";

import { createBroker } from "@topicsync/kafka/client";
import { createLogger } from "@topicsync/lib/logger";
import type { LogWatch } from "@topicsync/kafka";
import { readConfig } from "../../../src/config/config.ts";
import { connectBroker } from "../../support/broker.ts";
import { apiKeys, startKafkaProxy } from "../../support/kafka-proxy.ts";
import { createKafkaTopics, recreateKafkaTopic } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";
import type { KafkaUnderTest, TestRecord } from "./kafka-under-test.ts";

const hourMs = 3_600_000;

const { DefaultPartitioner: createPartitioner } = kafkajs.Partitioners;

/** The Kafka topics of one scene, and what it uses them with. */
async function createTopics(partitions: number, resources: AsyncDisposableStack) {
  const topic = unique("conformance");
  const letters = unique("conformance-letters");
  // Of this scene alone: no request of a kafkajs client succeeds while one of its topics is deleted.
  const { kafka, admin, producer } = testKafka(sharedStack().kafka);
  await Promise.all([admin.connect(), producer.connect()]);
  await createKafkaTopics(admin, { topic, numPartitions: partitions }, { topic: letters, numPartitions: 1 });
  const connect = async (options: Partial<ProducerConfig> = {}): Promise<Producer> => {
    const connected = kafka.producer({ createPartitioner, ...options });
    await connected.connect();
    resources.defer(() => connected.disconnect());
    return connected;
  };
  return { topic, letters, kafka, admin, producer, connect };
}

/** Connects to the shared broker; runs each scene with new topics and a new group. */
export async function createRealKafka() {
  const broker = await connectBroker();
  const log = await createLogger("silent");

  return async function run<T>(partitions: number, scene: (kafka: KafkaUnderTest) => Promise<T>): Promise<T> {
    await using resources = new AsyncDisposableStack();
    const topics = await createTopics(partitions, resources);
    const groupId = unique("conformance-group");
    const proxy = await startKafkaProxy(sharedStack().kafka);
    const proxied = createBroker({ ...readConfig({}).kafka, groupId, brokers: [proxy.address] }, log);
    resources.defer(() => proxied.close());
    const letterProducer = broker.createProducer(topics.letters);
    resources.defer(() => letterProducer.close());
    // Awaited here, before the resources are released.
    return await scene({
      ...createLog(topics, broker.watch(topics.topic), partitions),
      createMember() {
        const member = proxied.createMember({ topic: topics.topic, groupId, commitsOffsets: true });
        resources.defer(() => member.stop());
        return member;
      },
      send: (records) => letterProducer.send(records),
      loseSync() {
        proxy.loseAnswer(apiKeys.syncGroup);
      },
      hasLostSync: () => proxy.hasLostAnswer(),
      setConnected(isConnected) {
        if (isConnected) proxy.heal();
        else proxy.cut();
      },
      async until(what, isMet) {
        await until(what, isMet);
      },
    });
  };
}

type Topics = Awaited<ReturnType<typeof createTopics>>;
type LogUnderTest = Pick<
  KafkaUnderTest,
  "startOfTime" | "topic" | "watch" | "append" | "begin" | "deleteBefore" | "grow" | "recreate"
>;

/** What happens to the log of a scene. */
function createLog(
  { topic, kafka, admin, ...topics }: Topics,
  watch: LogWatch,
  partitions: number,
): LogUnderTest {
  const startOfTime = Date.now() - hourMs;
  let appending = topics.producer;
  const toMessages = (partition: number, records: readonly TestRecord[]) =>
    records.map(({ value, at = 0 }) => ({ value, partition, timestamp: String(startOfTime + at) }));
  const getHigh = async (partition: number) => (await watch.fetchLog(partition)).high;
  return {
    startOfTime,
    topic,
    watch,
    async append(partition, records) {
      await appending.send({ topic, messages: toMessages(partition, records) });
    },
    async begin(partition) {
      const transactionalId = `${topic}-${randomBytes(4).toString("hex")}`;
      const producer = await topics.connect({ transactionalId, idempotent: true, maxInFlightRequests: 1 });
      const transaction = await producer.transaction();
      return {
        async append(records) {
          await transaction.send({ topic, messages: toMessages(partition, records) });
        },
        async end(commit) {
          const high = await getHigh(partition);
          await (commit ? transaction.commit() : transaction.abort());
          // The broker responds before it writes the marker.
          await until("the transaction has ended", async () => (await getHigh(partition)) > high);
        },
      };
    },
    async deleteBefore(partition, offset) {
      // kafkajs deletes no records of a topic that is not in its metadata.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
    },
    async grow(count) {
      await admin.createPartitions({ topicPartitions: [{ topic, count }] });
      await until("its partitions accept requests", async () => {
        const offsets = await admin.fetchTopicOffsets(topic);
        return offsets.length === count;
      });
      // The producer of before does not know them yet.
      appending = await topics.connect();
    },
    async recreate() {
      await recreateKafkaTopic({ kafka, admin }, { topic, numPartitions: partitions });
    },
  };
}
