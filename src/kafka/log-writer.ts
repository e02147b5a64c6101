import type { LogWriter } from "../records.ts";
import { unavailable } from "./failures.ts";
import { brokerSays, createProducer, toMessage } from "./producer.ts";
import type { KafkaClient } from "./sockets.ts";

/** What the broker says of records that it will never take, whenever they are sent. */
const refusals: ReadonlySet<string> = new Set([
  "MESSAGE_TOO_LARGE",
  "RECORD_LIST_TOO_LARGE",
  "INVALID_RECORD",
  "INVALID_TIMESTAMP",
]);

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
        const refused = brokerSays(error, refusals);
        if (refused === undefined) throw unavailable(error);
        return { refused };
      }
    },
    close: () => producer.close(),
  };
}
