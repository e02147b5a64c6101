import kafkajs, { type Kafka } from "kafkajs";

import { messageOf } from "../errors.ts";
import type { LogWriter } from "../records.ts";
import { unavailable } from "./failures.ts";
import { toMessage } from "./sink.ts";

/** What the broker says of records that it will never take, whenever they are sent. */
const refusals = new Set([
  "MESSAGE_TOO_LARGE",
  "RECORD_LIST_TOO_LARGE",
  "INVALID_RECORD",
  "INVALID_TIMESTAMP",
]);

/** Appends records to chosen partitions of one topic, acknowledged by every in-sync replica. */
export function createWriter(kafka: Kafka, topic: string): LogWriter & { close(): Promise<void> } {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  let connecting: Promise<void> | undefined;

  async function connected(): Promise<void> {
    connecting ??= producer.connect();
    await connecting.catch((error: unknown) => {
      connecting = undefined;
      throw unavailable(error);
    });
  }

  return {
    async append(partition, records) {
      await connected();
      const messages = records.map((record) => ({
        ...toMessage(record),
        ...(partition === undefined ? {} : { partition }),
      }));
      try {
        const [metadata] = await producer.send({ topic, acks: -1, messages });
        return { partition: metadata?.partition ?? partition ?? 0, offset: Number(metadata?.baseOffset) };
      } catch (error) {
        const refused = refusalIn(error);
        if (refused === undefined) throw unavailable(error);
        return { refused };
      }
    },
    async close() {
      await connecting?.catch(() => undefined);
      await producer.disconnect();
    },
  };
}

function refusalIn(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("type" in cause && refusals.has(String(cause.type))) return messageOf(cause);
  }
  return undefined;
}
