import kafkajs, { type Admin, type Kafka, type Producer } from "kafkajs";

import { stopIdleChecks } from "../../src/kafka/workarounds/request-queue.ts";

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
/** Some 700 kB: a batch of more than a megabyte is refused. */
const recordsARequest = 2_000;
const requestsAtOnce = 4;

/** The announcement of the topic with this number. */
export function announcement(number: number): { key: string; value: string } {
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

/** Makes a new topic, and gives what is needed to send to it. */
export async function openLog(
  brokers: string,
  topic: string,
  partitions = 1,
): Promise<{ producer: Producer } & AsyncDisposable> {
  stopIdleChecks();
  const kafka: Kafka = new kafkajs.Kafka({ brokers: brokers.split(","), logLevel: kafkajs.logLevel.NOTHING });
  const admin: Admin = kafka.admin();
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await Promise.all([admin.connect(), producer.connect()]);
  await admin.createTopics({ topics: [{ topic, numPartitions: partitions }] });
  await admin.disconnect();
  return { producer, [Symbol.asyncDispose]: () => producer.disconnect() };
}

/** Fills a new Kafka topic with announcements, each of another topic. */
export async function fillLog(brokers: string, topic: string, count: number, partitions = 1): Promise<Log> {
  await using log = await openLog(brokers, topic, partitions);
  let next = 0;
  const sendRest = async (): Promise<void> => {
    while (next < count) {
      const first = next;
      const size = Math.min(recordsARequest, count - first);
      next += size;
      const messages = Array.from({ length: size }, (_, i) => announcement(first + i));
      await log.producer.send({ topic, messages });
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, sendRest));
  return { topic, count };
}
