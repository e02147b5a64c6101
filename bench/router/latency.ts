import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import kafkajs, { type Producer } from "kafkajs";

import { quantile } from "../support/report.ts";
import type { Job } from "./contestants.ts";
import { createEventRecord, parseEventNumber } from "./events.ts";

export interface Latency {
  /** How many were sent. */
  readonly events: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export const eventsPerSecond = 1_000;
const intervalMs = 10;
const eventsPerInterval = (eventsPerSecond * intervalMs) / 1_000;
/** Not counted: Node compiles the code during this time. */
const maxWarmUpSeconds = 5;

/**
 * Sends events at a constant rate and returns the time from just before producer.send to the moment when a
 * read_committed consumer has the forwarded record, in ms.
 */
export async function measureLatency(
  brokers: string,
  job: Job,
  { producer, seconds }: { producer: Producer; seconds: number },
): Promise<Latency> {
  const warmUpSeconds = Math.min(maxWarmUpSeconds, seconds);
  const count = (warmUpSeconds + seconds) * eventsPerSecond;
  /** When each event was sent, and how long it took. */
  const sentAt = new Float64Array(count);
  const latencies = new Float64Array(count);
  await using egress = await followEgress(brokers, job, count, (event) => {
    latencies[event] = performance.now() - (sentAt[event] ?? NaN);
  });

  const send = async (first: number, size: number): Promise<void> => {
    sentAt.fill(performance.now(), first, first + size);
    const messages = Array.from({ length: size }, (_, i) => createEventRecord(first + i, job.topics));
    await producer.send({ topic: job.events, acks: -1, messages });
  };
  // The others follow when the contestant has started.
  await send(0, 1);
  await egress.first;
  const sending: Promise<void>[] = [];
  const start = performance.now();
  for (let first = 1; first < count; first += eventsPerInterval) {
    await sleep(Math.max(0, start + (first / eventsPerSecond) * 1_000 - performance.now()));
    sending.push(send(first, Math.min(eventsPerInterval, count - first)));
  }
  await Promise.all(sending);
  await egress.all;
  const counted = [...latencies.subarray(warmUpSeconds * eventsPerSecond)];
  return {
    events: count,
    p50: quantile(counted, 0.5),
    p99: quantile(counted, 0.99),
    max: Math.max(...counted),
  };
}

interface Egress extends AsyncDisposable {
  /** Resolves when the first event was read. */
  readonly first: Promise<undefined>;
  /** Resolves when `count` events were read. */
  readonly all: Promise<undefined>;
}

/** Reads the egress topic and calls `onEvent` with the number of each event. */
async function followEgress(
  brokers: string,
  { egress }: Job,
  count: number,
  onEvent: (event: number) => void,
): Promise<Egress> {
  const kafka = new kafkajs.Kafka({ brokers: brokers.split(","), logLevel: kafkajs.logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: `bench-${randomUUID()}`, maxWaitTimeInMs: 100 });
  const first = Promise.withResolvers<undefined>();
  const all = Promise.withResolvers<undefined>();
  let seen = 0;
  await consumer.connect();
  await consumer.subscribe({ topics: [egress], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: 8,
    eachBatch({ batch }) {
      for (const { key } of batch.messages) onEvent(parseEventNumber(key));
      seen += batch.messages.length;
      if (seen > 0) first.resolve(undefined);
      if (seen >= count) all.resolve(undefined);
      return Promise.resolve();
    },
  });
  return { first: first.promise, all: all.promise, [Symbol.asyncDispose]: () => consumer.disconnect() };
}
