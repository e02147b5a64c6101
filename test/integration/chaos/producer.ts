import kafkajs, { type Kafka, type Message, type Producer, type ProducerRecord } from "kafkajs";

import { getErrorMessage } from "../../../src/lib/errors.ts";
import { moveHeader, type Sent } from "./generator.ts";
import type { Random } from "./random.ts";

const { None, GZIP, Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes;
const codecs = [None, GZIP, Snappy, LZ4, ZSTD] as const;
const codecNames = {
  [None]: "none",
  [GZIP]: "gzip",
  [Snappy]: "snappy",
  [LZ4]: "lz4",
  [ZSTD]: "zstd",
} as const;

/** A request as large as the broker takes without compression, about. */
const maxRequestBytes = 800_000;

/** Marks the records of transactions that are aborted: no consumer may ever see one. */
export const abortedHeader = "chaos-aborted";

const dayMs = 86_400_000;
/** Timestamps as confused producers send them: of another time, or not in milliseconds. */
const oddTimestamps = [
  () => 0,
  () => Date.now() - 365 * dayMs,
  () => Date.now() + 20 * 3_600_000,
  () => Date.now() * 1e3,
  () => BigInt(Date.now()) * 1_000_000n,
] as const;

type Send = (record: ProducerRecord) => Promise<unknown>;

/**
 * Sends announcements to the partitions that they are for, in order, each request in any of the codecs: some with odd
 * timestamps, some in transactions, beside which another transaction is open that is aborted.
 */
export async function createAnnouncer(kafka: Kafka, topic: string, random: Random) {
  // The announced partition is the record's family's, whatever its key says.
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner;
  const options = { createPartitioner, allowAutoTopicCreation: false };
  const producer = kafka.producer(options);
  await producer.connect();
  const transactional = new Map<string, Producer>();
  /** Requests by codec, and transactions by how they ended. */
  const requests = new Map<string, number>();
  const count = (name: string): void => void requests.set(name, (requests.get(name) ?? 0) + 1);

  const timestamp = (): { timestamp?: string } =>
    random.chance(0.03) ? { timestamp: String(random.pick(oddTimestamps)()) } : {};

  async function request(
    send: Send,
    records: readonly Sent[],
    codec: (typeof codecs)[number],
  ): Promise<void> {
    const messages = records.map(({ partition, key, value, headers }) => ({
      partition,
      key,
      value,
      headers: { ...headers },
      ...timestamp(),
    }));
    await send({ topic, acks: -1, compression: codec, messages });
    count(codecNames[codec]);
  }

  /** A producer whose connection ends whatever its predecessor left open. */
  async function transactionalProducer(name: string): Promise<Producer> {
    const existing = transactional.get(name);
    if (existing !== undefined) return existing;
    const made = kafka.producer({
      ...options,
      transactionalId: name,
      idempotent: true,
      maxInFlightRequests: 1,
    });
    await made.connect();
    transactional.set(name, made);
    return made;
  }

  async function dropTransactionalProducers(): Promise<void> {
    const dropped = [...transactional.values()];
    transactional.clear();
    await Promise.allSettled(dropped.map((one) => one.disconnect()));
  }

  /** Records that would do harm if they were applied, now and then more of them than one fetch takes. */
  function harmfulRecords(records: readonly Sent[]): Message[] {
    const padding = random.chance(0.1) ? "x".repeat(90_000) : "";
    return records.slice(0, 8).map(({ partition, key }, index) => ({
      partition,
      key,
      value: random.chance(0.5)
        ? null
        : JSON.stringify({ externalId: `aborted/${index}`, name: padding || "no" }),
      headers: { [abortedHeader]: "true" },
    }));
  }

  /** Two interleaved transactions: the records are committed, harmful ones beside them aborted. */
  async function inTransaction(records: readonly Sent[], codec: (typeof codecs)[number]): Promise<void> {
    const [good, bad] = await Promise.all([
      transactionalProducer("chaos-1"),
      transactionalProducer("chaos-2"),
    ]);
    const aborted = await bad.transaction();
    const committed = await good.transaction();
    const middle = random.between(0, records.length);
    for (const part of [records.slice(0, middle), records.slice(middle)]) {
      await aborted.send({ topic, messages: harmfulRecords(records) });
      if (part.length > 0) await request((record) => committed.send(record), part, codec);
    }
    const ends = [() => committed.commit(), () => aborted.abort()];
    for (const end of random.shuffled(ends)) await end();
    count("transactions");
  }

  async function send(records: readonly Sent[], codec: (typeof codecs)[number]): Promise<void> {
    if (!random.chance(0.2)) return request((record) => producer.send(record), records, codec);
    try {
      await inTransaction(records, codec);
    } catch (error) {
      // Whether it was committed is not known; sent again, its records may be doubled.
      await dropTransactionalProducers();
      throw new Error(`retries after a failed transaction: ${getErrorMessage(error)}`, { cause: error });
    }
  }

  return {
    requests: requests as ReadonlyMap<string, number>,
    /** Resolves when the broker has them all; a broker that is away is waited for. A retry may double records. */
    async send(records: readonly Sent[], goOn: () => void): Promise<void> {
      let batch: Sent[] = [];
      let bytes = 0;
      const flush = async (): Promise<void> => {
        if (batch.length === 0) return;
        const codec = bytes > maxRequestBytes ? GZIP : random.pick(codecs);
        for (;;) {
          goOn();
          try {
            await send(batch, codec);
            break;
          } catch (error) {
            if (!isPassing(error)) throw error;
          }
        }
        batch = [];
        bytes = 0;
      };
      for (const record of records) {
        const size = record.value?.length ?? 0;
        if (bytes + size > maxRequestBytes) await flush();
        batch.push(record);
        bytes += size;
      }
      await flush();
    },
    /**
     * Sends a last record to each partition, a tombstone of a topic that never was. Once it is stable, every transaction before it
     * is over and its marker is written.
     */
    async sendLast(partitions: number): Promise<ReadonlyMap<number, number>> {
      const messages = Array.from({ length: partitions }, (_, partition) => ({
        ...{ partition, key: "never/last", value: null },
        headers: { [moveHeader]: "last" },
      }));
      const sent = await producer.send({ topic, acks: -1, messages });
      return new Map(sent.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]));
    },
    close: async (): Promise<void> => {
      await dropTransactionalProducers();
      await producer.disconnect();
    },
  };
}

/** Whether it is the broker's absence that was in the way. */
const isPassing = (error: unknown): boolean =>
  (error instanceof Error && "retriable" in error && error.retriable === true) ||
  /connect|timed? ?out|retries|leader|closed/i.test(getErrorMessage(error));
