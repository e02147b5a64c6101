import type { OutgoingRecord, RecordSink } from "../records.ts";
import { unavailable } from "./failures.ts";
import { brokerSays, createProducer, toMessage } from "./producer.ts";
import type { KafkaClient } from "./sockets.ts";

/** kafkajs sends what it is given at once as one record batch, which must not exceed the topic's `max.message.bytes`. */
const batchBytes = 512 * 1024;
const tooLargeTypes: ReadonlySet<string> = new Set(["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"]);

/** Sends records to one topic, acknowledged by every in-sync replica. */
export function createSink(client: KafkaClient, topic: string): RecordSink & { close(): Promise<void> } {
  const producer = createProducer(client, topic);

  /** False when the broker finds the batch too large. */
  async function sendBatch(records: readonly OutgoingRecord[]): Promise<boolean> {
    try {
      await producer.send(records.map(toMessage));
      return true;
    } catch (error) {
      if (brokerSays(error, tooLargeTypes) !== undefined) return false;
      throw unavailable(error);
    }
  }

  return {
    async send(records) {
      const tooLarge: number[] = [];
      for (const { first, batch } of batches(records)) {
        if (await sendBatch(batch)) continue;
        for (const [index, record] of batch.entries()) {
          if (batch.length === 1 || !(await sendBatch([record]))) tooLarge.push(first + index);
        }
      }
      return tooLarge;
    },
    close: () => producer.close(),
  };
}

function* batches(records: readonly OutgoingRecord[]): Generator<{ first: number; batch: OutgoingRecord[] }> {
  let first = 0;
  let bytes = 0;
  for (const [index, record] of records.entries()) {
    const size = sizeOf(record);
    if (index > first && bytes + size > batchBytes) {
      yield { first, batch: records.slice(first, index) };
      first = index;
      bytes = 0;
    }
    bytes += size;
  }
  if (first < records.length) yield { first, batch: records.slice(first) };
}

const sizeOf = ({ key, value, headers }: OutgoingRecord): number =>
  (key?.length ?? 0) + (value?.length ?? 0) + JSON.stringify(headers).length;
