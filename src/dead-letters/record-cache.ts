import { LRUCache } from "lru-cache";

import {
  measureRecord,
  type LogReader,
  type PartitionOffset,
  type PartitionRecord,
  type RecordHeaders,
} from "../sync/records.ts";

/** A record to read, with its size in bytes. */
export interface WantedRecord {
  readonly position: PartitionOffset;
  readonly bytes: number;
}

/** Reads whole records of a dead-letter topic; the newest and the last read are cached. */
export interface RecordCache {
  readonly add: (record: PartitionRecord) => void;
  /**
   * The records in the given order, without those that the topic has deleted. Bounded memory: reads and holds a few MB at a
   * time. Throws UnavailableError.
   */
  read<T extends WantedRecord>(wanted: readonly T[]): AsyncGenerator<readonly [T, PartitionRecord]>;
}

export interface RecordCacheOptions {
  readonly reader: LogReader;
  readonly topic: string;
  readonly maxBytes: number;
  readonly abort: AbortSignal;
}

/** Creates an empty cache. */
export function createRecordCache({ reader, topic, maxBytes, abort }: RecordCacheOptions): RecordCache {
  const cache = new LRUCache<string, PartitionRecord>({
    maxSize: maxBytes,
    sizeCalculation: getRecordBytes,
  });

  function add(placed: PartitionRecord): PartitionRecord {
    const copied = copyRecord(placed);
    cache.set(toKey({ partition: placed.partition, offset: placed.record.offset }), copied);
    return copied;
  }

  /** These records, by key: from the cache, or else by one pass through the topic. */
  async function load(positions: readonly PartitionOffset[]): Promise<Map<string, PartitionRecord>> {
    const loaded = new Map<string, PartitionRecord>();
    const missing = new Map<string, PartitionOffset>();
    for (const position of positions) {
      const cached = cache.get(toKey(position));
      if (cached === undefined) missing.set(toKey(position), position);
      else loaded.set(toKey(position), cached);
    }
    if (missing.size === 0) return loaded;
    const from = await findStart([...missing.values()]);
    for await (const placed of reader.read(topic, { from, abort })) {
      const key = toKey({ partition: placed.partition, offset: placed.record.offset });
      if (!missing.delete(key)) continue;
      loaded.set(key, add(placed));
      if (missing.size === 0) break;
    }
    return loaded;
  }

  /** Partitions with none of the positions are not read. */
  async function findStart(positions: readonly PartitionOffset[]): Promise<Map<number, number>> {
    const from = new Map<number, number>();
    for (const partition of (await reader.fetchBounds(topic))?.keys() ?? []) from.set(partition, Infinity);
    for (const { partition, offset } of positions)
      from.set(partition, Math.min(offset, from.get(partition) ?? Infinity));
    return from;
  }

  return {
    add: (record) => void add(record),
    async *read(wanted) {
      for (const chunk of splitByBytes(wanted)) {
        const loaded = await load(chunk.map(({ position }) => position));
        for (const one of chunk) {
          const record = loaded.get(toKey(one.position));
          if (record !== undefined) yield [one, record];
        }
      }
    },
  };
}

const maxBytesPerChunk = 16 * 1024 * 1024;

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

const overheadBytes = 500;

/** About how many bytes of memory a record takes. */
export const getRecordBytes = ({ record }: PartitionRecord): number => measureRecord(record) + overheadBytes;

/** A fetched record shares a buffer with everything fetched with it, and would keep all of that in memory. */
function copyRecord({ partition, record }: PartitionRecord): PartitionRecord {
  const { key, value, headers } = record;
  return {
    partition,
    record: {
      ...record,
      key: key && Buffer.from(key),
      value: value && Buffer.from(value),
      headers: copyHeaders(headers),
    },
  };
}

function copyHeaders(headers: RecordHeaders): RecordHeaders {
  const copy = (header: Buffer | string): Buffer | string =>
    typeof header === "string" ? header : Buffer.from(header);
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [
      name,
      Array.isArray(values) ? values.map(copy) : values && copy(values),
    ]),
  );
}
