import type { LogReader, LogRecord, PartitionOffset } from "../sync/records.ts";
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
}

/** What was read of a wanted dead letter. */
export interface ReadDeadLetter<T extends WantedDeadLetter> {
  readonly wanted: T;
  /** Undefined if Kafka did not return it. */
  readonly letter: DeadLetter | undefined;
  /**
   * Whether Kafka has deleted it for certain: it returned what is there now. It also returns nothing for a
   * moment after an election.
   */
  readonly isGone: boolean;
}

/** Several times this is in memory, since a response of the broker has neighbours of the wanted records. */
const maxBytesPerChunk = 4 * 1024 * 1024;

/** Reads whole dead letters, in the given order, a few MB at a time. Throws UnavailableError. */
export async function* readDeadLetters<T extends WantedDeadLetter>(
  all: readonly T[],
  { deadLetterTopic, kafka, identify }: DeadLetterSource,
): AsyncGenerator<ReadDeadLetter<T>> {
  for (const chunk of splitByBytes(all)) {
    const records = await readChunk(kafka, deadLetterTopic, chunk);
    for (const wanted of chunk) {
      const key = toKey(wanted.position);
      const record = records.get(key);
      const { partition } = wanted.position;
      const found = record && parseDeadLetter(deadLetterTopic, { partition, record }, identify);
      // Another one is there if the topic was deleted and created again.
      const letter = found?.id === wanted.id ? found : undefined;
      yield { wanted, letter, isGone: letter === undefined && records.has(key) };
    }
  }
}

/** The records by position; undefined where there is none, but a later one. */
async function readChunk(
  kafka: DeadLetterSource["kafka"],
  topic: string,
  chunk: readonly WantedDeadLetter[],
): Promise<ReadonlyMap<string, LogRecord | undefined>> {
  const missing = new Map(chunk.map(({ position }) => [toKey(position), position]));
  const found = new Map<string, LogRecord | undefined>();
  for (const from of [...missing.values()].toSorted((a, b) => a.offset - b.offset)) {
    if (!missing.delete(toKey(from))) continue;
    const records = await kafka.fetchRecords(topic, from);
    if (records.some(({ offset }) => offset > from.offset)) found.set(toKey(from), undefined);
    for (const record of records) {
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
