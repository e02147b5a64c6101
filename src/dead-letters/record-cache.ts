import { LRUCache } from "lru-cache";

import type { LogReader, PartitionOffset, PartitionRecord, RecordHeaders } from "../sync/records.ts";
import { getRecordSize } from "./mailbox.ts";

/** Records of a dead-letter topic, whole. */
export interface RecordCache {
  /** Keeps a record at hand, as long as nothing newer needs its place. */
  readonly keep: (placed: PartitionRecord) => void;
  /**
   * The records at these places, in the order of the topic. What is not at hand is read from the topic, from the first of
   * them on; what is gone is left out. Throws UnavailableError.
   */
  take(places: readonly PartitionOffset[]): AsyncGenerator<PartitionRecord, void, undefined>;
}

export interface RecordCacheOptions {
  readonly reader: LogReader;
  readonly topic: string;
  /** So many bytes are kept at hand at most. */
  readonly maxBytes: number;
  readonly abort: AbortSignal;
}

/** Makes an empty shelf. */
export function createRecordCache({
  reader,
  topic,
  maxBytes: mostBytes,
  abort,
}: RecordCacheOptions): RecordCache {
  const kept = new LRUCache<string, PartitionRecord>({ maxSize: mostBytes, sizeCalculation: getRecordSize });

  async function* read(places: readonly PartitionOffset[]): AsyncGenerator<PartitionRecord, void, undefined> {
    const wanted = new Set(places.map(nameOf));
    const from = new Map<number, number>();
    for (const partition of (await reader.bounds(topic))?.keys() ?? []) from.set(partition, Infinity);
    for (const { partition, offset } of places)
      from.set(partition, Math.min(offset, from.get(partition) ?? Infinity));
    for await (const placed of reader.read(topic, { from, abort })) {
      if (!wanted.delete(nameOf({ partition: placed.partition, offset: placed.record.offset }))) continue;
      yield keep(placed);
      if (wanted.size === 0) return;
    }
  }

  function keep(placed: PartitionRecord): PartitionRecord {
    const own = copyOf(placed);
    kept.set(nameOf({ partition: placed.partition, offset: placed.record.offset }), own);
    return own;
  }

  return {
    keep,
    async *take(places) {
      const atHand = places.flatMap((place) => kept.get(nameOf(place)) ?? []);
      if (atHand.length < places.length) yield* read(places);
      else yield* atHand.toSorted((a, b) => a.partition - b.partition || a.record.offset - b.record.offset);
    },
  };
}

const nameOf = ({ partition, offset }: PartitionOffset): string => `${partition}-${offset}`;

/** A record with bytes of its own: those of one that was fetched keep everything in memory that came with it. */
function copyOf({ partition, record }: PartitionRecord): PartitionRecord {
  const { key, value, headers } = record;
  const copied = {
    key: key && Buffer.from(key),
    value: value && Buffer.from(value),
    headers: copiedHeaders(headers),
  };
  return { partition, record: { ...record, ...copied } };
}

function copiedHeaders(headers: RecordHeaders): RecordHeaders {
  const copied = (one: Buffer | string): Buffer | string =>
    typeof one === "string" ? one : Buffer.from(one);
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [
      name,
      Array.isArray(values) ? values.map(copied) : values && copied(values),
    ]),
  );
}
