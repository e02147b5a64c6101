import kafkajs, { type Admin, type Kafka } from "kafkajs";

import { quietTimers } from "../src/kafka/timers.ts";

/** A Kafka topic full of announcements. */
export interface Log {
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
const recordsARequest = 1_000;

/** The announcement of the topic with this number. */
function announcement(number: number): { key: string; value: string } {
  const externalId = `8f14e45f-ceea-467f-a9c5-${String(number).padStart(12, "0")}`;
  const value = JSON.stringify({
    externalId,
    name: `Topic of the benchmark ${number}`,
    namespace: namespaces[number % namespaces.length],
    headerQuery: `eventType=${eventTypes[number % eventTypes.length] ?? ""}`,
    contentQuery: `troubleTicket.severity=Critical,Major&troubleTicket.customer=${number}`,
  });
  return { key: externalId, value };
}

/** Fills a new topic of one partition with announcements, each of another topic. */
export async function fillLog(brokers: string, topic: string, count: number): Promise<Log> {
  quietTimers();
  const kafka: Kafka = new kafkajs.Kafka({ brokers: brokers.split(","), logLevel: kafkajs.logLevel.NOTHING });
  const admin: Admin = kafka.admin();
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await Promise.all([admin.connect(), producer.connect()]);
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] });
  for (let first = 0; first < count; first += recordsARequest) {
    const size = Math.min(recordsARequest, count - first);
    await producer.send({ topic, messages: Array.from({ length: size }, (_, i) => announcement(first + i)) });
  }
  await Promise.all([admin.disconnect(), producer.disconnect()]);
  return { topic, count };
}
