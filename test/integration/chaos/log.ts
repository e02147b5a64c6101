import kafkajs, { type Admin, type IHeaders, type Kafka } from "kafkajs";

import { toHeaderList, boundFetches, fetchByTopicId, stopIdleChecks } from "@topicsync/kafka/internals";
import { readConfig } from "../../../src/config/config.ts";
import { unique } from "../../support/names.ts";
import type { RawRecord } from "./decoder.ts";

export interface LogEntry extends RawRecord {
  readonly partition: number;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Retries long enough to survive the restart of a broker. */
export function connectKafka(brokers: string): Kafka {
  boundFetches(readConfig({}).kafka.maxBatchBytes);
  stopIdleChecks();
  // kafkajs delivers some records of aborted transactions (docs/decisions/009-aborted-transactions.md).
  fetchByTopicId();
  return new kafkajs.Kafka({
    clientId: "chaos",
    brokers: brokers.split(","),
    logLevel: kafkajs.logLevel.NOTHING,
    connectionTimeout: 3_000,
    retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: 60 },
  });
}

/** Returns the log end offset by partition. Throws if a partition has no leader. */
export async function readLogEnds(admin: Admin, topic: string): Promise<Map<number, number>> {
  const offsets = await admin.fetchTopicOffsets(topic);
  // kafkajs leaves out partitions without a leader.
  const count = await countPartitions(admin, topic);
  if (offsets.length !== count) throw new Error(`${offsets.length} of ${count} partitions have a leader`);
  return new Map(offsets.map(({ partition, high }) => [partition, Number(high)]));
}

export async function countPartitions(admin: Admin, topic: string): Promise<number> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics[0]?.partitions.length ?? 0;
}

/** Passes every record below `ends` to `take`, in offset order per partition. */
export async function readLog(
  kafka: Kafka,
  { topic, ends }: { readonly topic: string; readonly ends: ReadonlyMap<number, number> },
  take: (entry: LogEntry) => void,
): Promise<void> {
  const left = new Set([...ends].filter(([, end]) => end > 0).map(([partition]) => partition));
  const consumer = kafka.consumer({ groupId: unique("oracle"), maxWaitTimeInMs: 100 });
  const done = Promise.withResolvers<undefined>();
  if (left.size === 0) done.resolve(undefined);
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) done.reject(payload.error);
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    eachBatch: ({ batch }) => {
      const { partition } = batch;
      for (const { offset, timestamp, key, value, headers } of batch.messages) {
        const at = { partition, offset: Number(offset), timestamp: Number(timestamp) };
        take({ ...at, key, value, headers: toTexts(headers) });
      }
      if (Number(batch.lastOffset()) + 1 >= (ends.get(partition) ?? 0)) left.delete(partition);
      if (left.size === 0) done.resolve(undefined);
      return Promise.resolve();
    },
  });
  await done.promise;
  await consumer.disconnect();
}

const toTexts = (headers: IHeaders = {}): Record<string, string> =>
  Object.fromEntries(toHeaderList(headers).map(([name, value]) => [name, String(value)]));
