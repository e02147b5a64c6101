import kafkajs, {
  type Kafka,
  type Message,
  type Producer,
  type ProducerRecord,
  type RecordMetadata,
} from "kafkajs";

import { getErrorMessage } from "@topicsync/lib/errors";
import type { GeneratedRecord } from "./generator.ts";
import type { Random } from "../../support/random.ts";

const { None, GZIP, Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes;
const codecs = [None, GZIP, Snappy, LZ4, ZSTD] as const;
const codecNames = {
  [None]: "none",
  [GZIP]: "gzip",
  [Snappy]: "snappy",
  [LZ4]: "lz4",
  [ZSTD]: "zstd",
} as const;

/** About the largest request that a broker accepts uncompressed. */
const maxRequestBytes = 800_000;

/** Marks records of aborted transactions, which no consumer may see. */
export const abortedHeader = "chaos-aborted";

const dayMs = 86_400_000;
/** Timestamps of misconfigured producers: far off, or not in milliseconds. */
const oddTimestamps = [
  () => 0,
  () => Date.now() - 365 * dayMs,
  () => Date.now() + 20 * 3_600_000,
  () => Date.now() * 1e3,
  () => BigInt(Date.now()) * 1_000_000n,
] as const;

type Send = (record: ProducerRecord) => Promise<RecordMetadata[]>;

/** How soon it uses partitions that were added, and new leaders. */
const metadataMaxAgeMs = 1_000;

/** What is sent besides the generated records. */
export interface ProducedTopic {
  readonly topic: string;
  /** The value of a record that would have an effect if its transaction were not aborted. */
  readonly createHarmfulValue: (index: number, padding: string) => string | null;
  /** A record without effect. */
  readonly last: Pick<Message, "key" | "value" | "headers">;
}

/**
 * Sends records to their partitions in order, each request with a random codec. Some records have odd
 * timestamps; some requests are transactions, interleaved with another one that is aborted.
 */
export async function createInputProducer(
  kafka: Kafka,
  { topic, createHarmfulValue, last }: ProducedTopic,
  random: Random,
) {
  // It keeps the partition that a record names.
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner;
  const options = { createPartitioner, allowAutoTopicCreation: false, metadataMaxAge: metadataMaxAgeMs };
  const producer = kafka.producer(options);
  await producer.connect();
  const transactional = new Map<string, Producer>();
  /** Requests by codec, and the number of transactions. */
  const requests = new Map<string, number>();
  const count = (name: string): void => void requests.set(name, (requests.get(name) ?? 0) + 1);

  const pickTimestamp = (): { timestamp?: string } =>
    random.chance(0.03) ? { timestamp: String(random.pick(oddTimestamps)()) } : {};

  async function request(
    send: Send,
    records: readonly GeneratedRecord[],
    codec: (typeof codecs)[number],
  ): Promise<void> {
    const messages = records.map(({ partition, key, value, headers }) => ({
      partition,
      key,
      value,
      headers: { ...headers },
      ...pickTimestamp(),
    }));
    checkAcknowledged(messages, await send({ topic, acks: -1, compression: codec, messages }));
    count(codecNames[codec]);
  }

  /** Connecting aborts a transaction that an earlier producer of this name left open. */
  async function getTransactionalProducer(name: string): Promise<Producer> {
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

  /** A tenth are larger than one fetch. */
  function createHarmfulRecords(records: readonly GeneratedRecord[]): Message[] {
    const padding = random.chance(0.1) ? " ".repeat(90_000) : "";
    return records.slice(0, 8).map(({ partition, key }, index) => ({
      partition,
      key,
      value: createHarmfulValue(index, padding),
      headers: { [abortedHeader]: "true" },
    }));
  }

  /** Commits the records, interleaved with an aborted transaction of harmful ones. */
  async function sendInTransaction(
    records: readonly GeneratedRecord[],
    codec: (typeof codecs)[number],
  ): Promise<void> {
    const [good, bad] = await Promise.all([
      getTransactionalProducer(`${topic}-1`),
      getTransactionalProducer(`${topic}-2`),
    ]);
    const aborted = await bad.transaction();
    const committed = await good.transaction();
    const middle = random.between(0, records.length);
    for (const part of [records.slice(0, middle), records.slice(middle)]) {
      await aborted.send({ topic, messages: createHarmfulRecords(records) });
      if (part.length > 0) await request((record) => committed.send(record), part, codec);
    }
    const ends = [() => committed.commit(), () => aborted.abort()];
    for (const end of random.shuffle(ends)) await end();
    count("transactions");
  }

  async function send(records: readonly GeneratedRecord[], codec: (typeof codecs)[number]): Promise<void> {
    if (!random.chance(0.2)) return request((record) => producer.send(record), records, codec);
    try {
      await sendInTransaction(records, codec);
    } catch (error) {
      // It may have been committed, so retrying may duplicate records.
      await dropTransactionalProducers();
      throw new Error(`retries after a failed transaction: ${getErrorMessage(error)}`, { cause: error });
    }
  }

  return {
    requests: requests as ReadonlyMap<string, number>,
    /** Retries while a broker is down, which may duplicate records. */
    async send(records: readonly GeneratedRecord[], checkDeadline: () => void): Promise<void> {
      let batch: GeneratedRecord[] = [];
      let bytes = 0;
      const flush = async (): Promise<void> => {
        if (batch.length === 0) return;
        const codec = bytes > maxRequestBytes ? GZIP : random.pick(codecs);
        for (;;) {
          checkDeadline();
          try {
            await send(batch, codec);
            break;
          } catch (error) {
            if (!isTransient(error)) throw error;
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
     * Sends a record without effect to each partition. Once it is stable, every earlier transaction has ended
     * and its marker is written.
     */
    async sendLast(partitions: number): Promise<ReadonlyMap<number, number>> {
      const messages = Array.from({ length: partitions }, (_, partition) => ({ partition, ...last }));
      const sent = await producer.send({ topic, acks: -1, messages });
      checkAcknowledged(messages, sent);
      return new Map(sent.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]));
    },
    close: async (): Promise<void> => {
      await dropTransactionalProducers();
      await producer.disconnect();
    },
  };
}

/**
 * Throws if kafkajs left out messages: it does so for partitions that had no leader when it read the
 * metadata.
 */
export function checkAcknowledged(
  messages: readonly { readonly partition: number }[],
  acknowledged: readonly RecordMetadata[],
): void {
  const found = new Set(acknowledged.map(({ partition }) => partition));
  const missing = messages.find(({ partition }) => !found.has(partition));
  if (missing !== undefined) throw new Error(`partition ${missing.partition} has no leader`);
}

/** Whether a broker was unavailable. */
const isTransient = (error: unknown): boolean =>
  (error instanceof Error && "retriable" in error && error.retriable === true) ||
  /connect|timed? ?out|retries|leader|closed/i.test(getErrorMessage(error));
