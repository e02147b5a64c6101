import kafkajs, { type Message, type RecordMetadata } from "kafkajs";

import type { OutgoingRecord } from "../sync/records.ts";
import { quoteTopic, toKafkaError } from "./failures.ts";
import type { KafkaClient } from "./sockets.ts";

/** A kafkajs producer for one topic, connected with the first record. */
export interface LazyProducer {
  /**
   * Resolves when every in-sync replica has the messages. Throws UnavailableError when it cannot connect, and otherwise what
   * kafkajs throws: what the broker says of the messages is in there.
   */
  send(messages: Message[]): Promise<RecordMetadata[]>;
  close(): Promise<void>;
}

/** Makes a producer; nothing is connected yet. */
export function createProducer({ kafka, giveUp }: KafkaClient, topic: string): LazyProducer {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  producer.on(producer.events.REQUEST_TIMEOUT, giveUp);
  let connecting: Promise<void> | undefined;

  async function connected(): Promise<void> {
    connecting ??= producer.connect();
    await connecting.catch((error: unknown) => {
      connecting = undefined;
      throw toKafkaError(error, { TOPIC_AUTHORIZATION_FAILED: `Write on ${quoteTopic(topic)}` });
    });
  }

  return {
    async send(messages) {
      await connected();
      return producer.send({ topic, acks: -1, messages });
    },
    async close() {
      await connecting?.catch(() => undefined);
      await producer.disconnect();
    },
  };
}

/** The record as kafkajs wants it. */
export const toMessage = ({ key, value, headers, timestamp }: OutgoingRecord): Message => ({
  key,
  value,
  headers: { ...headers },
  ...(timestamp === undefined ? {} : { timestamp }),
});
