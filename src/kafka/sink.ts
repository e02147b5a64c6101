import type { OutgoingRecord, RecordSink, RejectedRecord, Rejection } from "../sync/records.ts";
import { findRejection, quoteTopic, toKafkaError } from "./failures.ts";
import { createProducer, toMessage } from "./producer.ts";
import type { KafkaClient } from "./sockets.ts";

/** kafkajs sends what it is given at once as one record batch, which must not exceed the topic's `max.message.bytes`. */
const batchBytes = 512 * 1024;

/** Sends records to one topic, acknowledged by every in-sync replica. */
export function createSink(client: KafkaClient, topic: string): RecordSink & { close(): Promise<void> } {
  const producer = createProducer(client, topic);

  /** Returns undefined when the broker has the whole batch. */
  async function sendBatch(records: readonly OutgoingRecord[]): Promise<Rejection | undefined> {
    try {
      await producer.send(records.map(toMessage));
      return undefined;
    } catch (error) {
      const rejection = findRejection(error);
      if (rejection === undefined)
        throw toKafkaError(error, { TOPIC_AUTHORIZATION_FAILED: `Write on ${quoteTopic(topic)}` });
      return rejection;
    }
  }

  return {
    async send(records) {
      const rejected: RejectedRecord[] = [];
      for (const { first, batch } of batches(records)) {
        const ofBatch = await sendBatch(batch);
        if (ofBatch === undefined) continue;
        for (const [index, record] of batch.entries()) {
          const rejection = batch.length === 1 ? ofBatch : await sendBatch([record]);
          if (rejection !== undefined) rejected.push({ index: first + index, ...rejection });
        }
      }
      return rejected;
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
