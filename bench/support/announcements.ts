import kafkajs, { type Admin, type Kafka, type Producer } from "kafkajs";

import { stopIdleChecks } from "@topicsync/kafka/internals";
import type { TopicBody } from "../../schemas/topics/topic.ts";
import { createKafkaTopics } from "../../test/support/kafka-topics.ts";

/** A Kafka topic filled with announcements. */
export interface FilledTopic {
  readonly topic: string;
  readonly count: number;
}

const eventTypes = [
  "TroubleTicketCreateEvent",
  "AlarmCreateEvent",
  "ServiceOrderStateChangeEvent",
  "ProductOrderCreateEvent",
];
const namespaces = ["assurance", "fulfilment", "inventory", "billing"];
/** About 700 kB; the broker rejects batches over 1 MB. */
const recordsPerRequest = 2_000;
const maxConcurrentRequests = 4;

/** Revisions differ in the name. */
export function createAnnouncement(number: number, revision = 1): { key: string; value: string } {
  const externalId = `8f14e45f-ceea-467f-a9c5-${String(number).padStart(12, "0")}`;
  const value = JSON.stringify({
    externalId,
    name: `Topic of the benchmark ${number}${revision === 1 ? "" : `, revision ${revision}`}`,
    namespace: namespaces[number % namespaces.length],
    headerQuery: `eventType=${eventTypes[number % eventTypes.length] ?? ""}`,
    contentQuery: `troubleTicket.severity=Critical,Major&troubleTicket.customer=${number}`,
  });
  return { key: externalId, value };
}

/** The topics of the announcements. */
export function* createTopicBodies(count: number): Generator<TopicBody> {
  for (let number = 0; number < count; number += 1)
    yield JSON.parse(createAnnouncement(number).value) as TopicBody;
}

/** Creates a Kafka topic and a producer for it. */
export async function openTopic(
  brokers: string,
  topic: string,
  partitions = 1,
): Promise<{ producer: Producer } & AsyncDisposable> {
  stopIdleChecks();
  const kafka: Kafka = new kafkajs.Kafka({ brokers: brokers.split(","), logLevel: kafkajs.logLevel.NOTHING });
  const admin: Admin = kafka.admin();
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await Promise.all([admin.connect(), producer.connect()]);
  await createKafkaTopics(admin, { topic, numPartitions: partitions });
  await admin.disconnect();
  return { producer, [Symbol.asyncDispose]: () => producer.disconnect() };
}

/** Creates a Kafka topic with announcements of `count` different topics. */
export async function fillTopic(
  brokers: string,
  topic: string,
  count: number,
  { partitions = 1, revision = 1 }: { readonly partitions?: number; readonly revision?: number } = {},
): Promise<FilledTopic> {
  await using target = await openTopic(brokers, topic, partitions);
  let next = 0;
  const sendRest = async (): Promise<void> => {
    while (next < count) {
      const first = next;
      const size = Math.min(recordsPerRequest, count - first);
      next += size;
      const messages = Array.from({ length: size }, (_, i) => createAnnouncement(first + i, revision));
      await target.producer.send({ topic, messages });
    }
  };
  await Promise.all(Array.from({ length: maxConcurrentRequests }, sendRest));
  return { topic, count };
}
