import type { LogWriter } from "../sync/records.ts";
import { findRejection, quoteTopic, toKafkaError } from "./failures.ts";
import { createProducer, toMessage } from "./producer.ts";
import type { KafkaClient } from "./sockets.ts";

/** Appends records to chosen partitions of one topic, acknowledged by every in-sync replica. */
export function createWriter(client: KafkaClient, topic: string): LogWriter & { close(): Promise<void> } {
  const producer = createProducer(client, topic);
  return {
    async append(partition, records) {
      const messages = records.map((record) => ({
        ...toMessage(record),
        ...(partition === undefined ? {} : { partition }),
      }));
      try {
        const [metadata] = await producer.send(messages);
        return { partition: metadata?.partition ?? partition ?? 0, offset: Number(metadata?.baseOffset) };
      } catch (error) {
        const rejection = findRejection(error);
        if (rejection === undefined)
          throw toKafkaError(error, { TOPIC_AUTHORIZATION_FAILED: `Write on ${quoteTopic(topic)}` });
        return { refused: rejection.message };
      }
    },
    close: () => producer.close(),
  };
}
