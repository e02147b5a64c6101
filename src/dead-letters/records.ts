import type { LogReader, LogRecord, PartitionOffset } from "@topicsync/kafka";
import { parseDeadLetter, type DeadLetter, type IdentifyTopic } from "./dead-letter.ts";

/** A dead letter to read, with the size of its record in bytes. */
export interface WantedDeadLetter {
  readonly id: string;
  readonly position: PartitionOffset;
  readonly bytes: number;
}

export interface DeadLetterSource {
  readonly deadLetterTopic: string;
  readonly kafka: Pick<LogReader, "fetchRecords">;
  readonly identify: IdentifyTopic;
  /** The key of the proofs. */
  readonly proofKey: Buffer;
}

/** Several times this is in memory, since a response of the broker has neighbours of the wanted records. */
const maxBytesPerChunk = 4 * 1024 * 1024;

/**
 * Reads whole dead letters, in the given order, a few MB at a time; undefined for those that Kafka does not
 * return: it has deleted them, or a leader that was just elected does not know yet that it has them. Throws
 * UnavailableError.
 */
export async function* readDeadLetters<T extends WantedDeadLetter>(
  wanted: readonly T[],
  { deadLetterTopic, kafka, identify, proofKey }: DeadLetterSource,
): AsyncGenerator<readonly [T, DeadLetter | undefined]> {
  for (const chunk of splitByBytes(wanted)) {
    const records = await readChunk(kafka, deadLetterTopic, chunk);
    for (const one of chunk) {
      const { partition } = one.position;
      const record = records.get(toKey(one.position));
      const letter =
        record && parseDeadLetter(deadLetterTopic, { partition, record }, { identify, proofKey });
      // Another one is there if the topic was deleted and created again.
      yield [one, letter?.id === one.id ? letter : undefined];
    }
  }
}

/** The records that exist, by position. */
async function readChunk(
  kafka: DeadLetterSource["kafka"],
  topic: string,
  chunk: readonly WantedDeadLetter[],
): Promise<ReadonlyMap<string, LogRecord>> {
  const missing = new Map(chunk.map(({ position }) => [toKey(position), position]));
  const found = new Map<string, LogRecord>();
  for (const from of [...missing.values()].toSorted((a, b) => a.offset - b.offset)) {
    if (!missing.delete(toKey(from))) continue;
    for (const record of await kafka.fetchRecords(topic, from)) {
      const key = toKey({ partition: from.partition, offset: record.offset });
      if (key === toKey(from) || missing.delete(key)) found.set(key, record);
    }
  }
  return found;
}

function* splitByBytes<T extends WantedDeadLetter>(wanted: readonly T[]): Generator<T[]> {
  let chunk: T[] = [];
  let chunkBytes = 0;
  for (const one of wanted) {
    if (chunk.length > 0 && chunkBytes + one.bytes > maxBytesPerChunk) {
      yield chunk;
      chunk = [];
      chunkBytes = 0;
    }
    chunk.push(one);
    chunkBytes += one.bytes;
  }
  if (chunk.length > 0) yield chunk;
}

const toKey = ({ partition, offset }: PartitionOffset): string => `${partition}-${offset}`;
