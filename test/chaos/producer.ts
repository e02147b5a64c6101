import kafkajs, { type Kafka } from "kafkajs";

import { messageOf } from "../../src/errors.ts";
import type { Sent } from "./generator.ts";
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
const mostBytesARequest = 800_000;

/** Sends announcements to the partitions that they are for, in order, each request in any of the codecs. */
export async function createAnnouncer(kafka: Kafka, topic: string, random: Random) {
  // The announced partition is the record's family's, whatever its key says.
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner;
  const producer = kafka.producer({ createPartitioner, allowAutoTopicCreation: false });
  await producer.connect();
  /** Requests by codec. */
  const requests = new Map<string, number>();

  async function request(records: readonly Sent[], codec: (typeof codecs)[number]): Promise<void> {
    const messages = records.map(({ partition, key, value, headers }) => ({
      partition,
      key,
      value,
      headers: { ...headers },
    }));
    await producer.send({ topic, acks: -1, compression: codec, messages });
    const name = codecNames[codec];
    requests.set(name, (requests.get(name) ?? 0) + 1);
  }

  return {
    requests: requests as ReadonlyMap<string, number>,
    /** Resolves when the broker has them all; a broker that is away is waited for. A retry may double records. */
    async send(records: readonly Sent[], goOn: () => void): Promise<void> {
      let batch: Sent[] = [];
      let bytes = 0;
      const flush = async (): Promise<void> => {
        if (batch.length === 0) return;
        const codec = bytes > mostBytesARequest ? GZIP : random.pick(codecs);
        for (;;) {
          goOn();
          try {
            await request(batch, codec);
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
        if (bytes + size > mostBytesARequest) await flush();
        batch.push(record);
        bytes += size;
      }
      await flush();
    },
    close: () => producer.disconnect(),
  };
}

/** Whether it is the broker's absence that was in the way. */
const isPassing = (error: unknown): boolean =>
  (error instanceof Error && "retriable" in error && error.retriable === true) ||
  /connect|timed? ?out|retries|leader|closed/i.test(messageOf(error));
