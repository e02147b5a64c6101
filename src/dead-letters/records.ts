import type { LogReader, LogRecord, PartitionOffset } from "../sync/records.ts";

/** A record to read, with its size in bytes. */
export interface WantedRecord {
  readonly position: PartitionOffset;
  readonly bytes: number;
}

/** Several times this is in memory, since a response of the broker has neighbours of the wanted records. */
const maxBytesPerChunk = 4 * 1024 * 1024;

/**
 * Reads these records of a Kafka topic; undefined for those that it has deleted. In the given order, a few MB
 * at a time. Throws UnavailableError.
 */
export async function* readRecords<T extends WantedRecord>(
  reader: Pick<LogReader, "fetchRecords">,
  topic: string,
  wanted: readonly T[],
): AsyncGenerator<readonly [T, LogRecord | undefined]> {
  for (const chunk of splitByBytes(wanted)) {
    const records = await readChunk(reader, topic, chunk);
    for (const one of chunk) yield [one, records.get(toKey(one.position))];
  }
}

/** The records that exist, by position. */
async function readChunk(
  reader: Pick<LogReader, "fetchRecords">,
  topic: string,
  chunk: readonly WantedRecord[],
): Promise<ReadonlyMap<string, LogRecord>> {
  const missing = new Map(chunk.map(({ position }) => [toKey(position), position]));
  const found = new Map<string, LogRecord>();
  const inOrder = [...missing.values()].toSorted((a, b) => a.offset - b.offset);
  for (const from of inOrder) {
    if (!missing.delete(toKey(from))) continue;
    for (const record of await reader.fetchRecords(topic, from)) {
      const key = toKey({ partition: from.partition, offset: record.offset });
      const isFirst = key === toKey(from);
      if (isFirst || missing.delete(key)) found.set(key, record);
    }
  }
  return found;
}

function* splitByBytes<T extends WantedRecord>(wanted: readonly T[]): Generator<T[]> {
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
