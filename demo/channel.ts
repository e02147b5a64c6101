import { readFileSync } from "node:fs";

import kafkajs from "kafkajs";

import { toHeaderList, stopIdleChecks } from "@topicsync/kafka/internals";
import { getHeaderText, type RecordHeaders } from "@topicsync/kafka";

/** The demo's Kafka client: announces topics and reads dead letters. */
export interface Channel {
  /** The announcements topic. */
  readonly topic: string;
  /** Announces records and returns the offset after the last one. */
  announce(records: readonly { key: string; value: string }[]): Promise<number>;
  /** Waits for the dead letter of the announcement at this offset. */
  waitForDeadLetter(offset: number): Promise<{ code: string; message: string }>;
  /** Returns the number of dead letters. */
  countDeadLetters(): Promise<number>;
  close(): Promise<void>;
}

/** Reads the sample announcements. */
export function readSampleAnnouncements(): { key: string; value: string }[] {
  const text = readFileSync(new URL("../examples/announcements.ndjson", import.meta.url), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((value) => ({ value, key: (JSON.parse(value) as { externalId: string }).externalId }));
}

/** Connects to the broker. */
export async function openChannel(brokers: string, topic: string, deadLetterTopic: string): Promise<Channel> {
  stopIdleChecks();
  const kafka = new kafkajs.Kafka({
    clientId: "demo",
    brokers: brokers.split(","),
    logLevel: kafkajs.logLevel.NOTHING,
  });
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  const admin = kafka.admin();
  const consumer = kafka.consumer({ groupId: `demo-${Date.now()}`, maxWaitTimeInMs: 200 });
  const deadLetters = new Map<string, RecordHeaders>();
  const waiting = new Map<string, (headers: RecordHeaders) => void>();
  await Promise.all([producer.connect(), admin.connect(), consumer.connect()]);
  await consumer.subscribe({ topics: [deadLetterTopic], fromBeginning: true });
  await consumer.run({
    eachMessage: ({ message }) => {
      const headers = toHeaderList(message.headers);
      const id = getHeaderText(headers, "topicsync.id") ?? "";
      deadLetters.set(id, headers);
      waiting.get(id)?.(headers);
      return Promise.resolve();
    },
  });

  return {
    topic,
    async announce(records) {
      const [sent] = await producer.send({ topic, messages: [...records] });
      return Number(sent?.baseOffset) + records.length;
    },
    async waitForDeadLetter(offset) {
      const id = `${topic}-0-${offset}`;
      const headers =
        deadLetters.get(id) ?? (await new Promise<RecordHeaders>((resolve) => waiting.set(id, resolve)));
      return {
        code: String(getHeaderText(headers, "topicsync.code")),
        message: String(getHeaderText(headers, "__connect.errors.exception.message")),
      };
    },
    async countDeadLetters() {
      const [offsets] = await admin.fetchTopicOffsets(deadLetterTopic);
      return Number(offsets?.high) - Number(offsets?.low);
    },
    async close() {
      await Promise.all([consumer.disconnect(), producer.disconnect(), admin.disconnect()]);
    },
  };
}
