import type { LogBounds, LogReader, PartitionRecord } from "../sync/records.ts";
import { toSummary, newestFirst, type DeadLetterSummary } from "./summary.ts";
import { parseDeadLetter, type IdentifyTopic } from "./dead-letter.ts";

export interface DeadLetterIndexOptions {
  readonly reader: LogReader;
  /** The dead-letter topic. */
  readonly topic: string;
  readonly identify: IdentifyTopic;
  /** So many letters are known at most, the newest; each takes some 700 bytes. */
  readonly most: number;
  /** Told of every record that is read, in passing. */
  readonly passing: (placed: PartitionRecord) => void;
  /** Ends a reading. */
  readonly abort: AbortSignal;
}

/** What is known of the letters of a dead-letter topic, as far as it was read. */
export interface DeadLetterIndex {
  /** Reads on to the end of the topic, as it is now; whoever asks meanwhile shares the reading. Throws UnavailableError. */
  readOn(): Promise<void>;
  find(id: string): DeadLetterSummary | undefined;
  /** The newest first. */
  all(): readonly DeadLetterSummary[];
  /** About how many letters lie in the topic before the first that is known. */
  older(): number;
}

/** Makes an index of a dead-letter topic; nothing is read yet. */
export function createDeadLetterIndex({
  reader,
  topic,
  identify,
  most,
  passing,
  abort,
}: DeadLetterIndexOptions): DeadLetterIndex {
  /** In the order in which they were read; of copies the last. */
  const letters = new Map<string, DeadLetterSummary>();
  /** The offset to read on at, by partition. */
  const next = new Map<number, number>();
  /** The offset of the first record that is known, by partition. */
  const begin = new Map<number, number>();
  const ranks = new Map<number, number>();
  let bounds: ReadonlyMap<number, LogBounds> = new Map();
  let sorted: readonly DeadLetterSummary[] | undefined;
  let reading: Promise<void> | undefined;

  function forget(): void {
    for (const one of [letters, next, begin, ranks]) one.clear();
    sorted = undefined;
  }

  function take(placed: PartitionRecord): void {
    const { partition, record } = placed;
    const letter = parseDeadLetter(topic, placed, identify);
    const rank = Math.max(ranks.get(partition) ?? 0, letter.time?.getTime() ?? 0);
    const copies = (letters.get(letter.id)?.copies ?? 0) + 1;
    letters.delete(letter.id);
    letters.set(letter.id, toSummary(letter, { copies, rank }));
    ranks.set(partition, rank);
    next.set(partition, record.offset + 1);
    sorted = undefined;
    if (letters.size > most) dropOldest();
    passing(placed);
  }

  function dropOldest(): void {
    const oldest = letters.values().next().value;
    if (oldest === undefined) return;
    letters.delete(oldest.id);
    const { partition, offset } = oldest.at;
    begin.set(partition, Math.max(begin.get(partition) ?? 0, offset + 1));
  }

  /** Letters whose time has come to be deleted from the topic. */
  function dropDeleted(): void {
    for (const { id, at } of letters.values()) {
      if (at.offset >= (bounds.get(at.partition)?.low ?? Infinity)) continue;
      letters.delete(id);
      sorted = undefined;
    }
  }

  async function read(): Promise<void> {
    const found = (await reader.bounds(topic)) ?? new Map<number, LogBounds>();
    const isAnother = [...next].some(([partition, offset]) => (found.get(partition)?.high ?? 0) < offset);
    if (isAnother) forget();
    const hasLost = [...found].some(([partition, { low }]) => low > (bounds.get(partition)?.low ?? low));
    bounds = found;
    if (hasLost) dropDeleted();

    // Among several partitions each gets its share: which of them has the newest is not known before.
    const share = Math.ceil(most / Math.max(found.size, 1));
    const from = new Map<number, number>();
    for (const [partition, { low, high }] of found) {
      const first = Math.max(low, next.get(partition) ?? low, high - share);
      if (first > (next.get(partition) ?? low)) begin.set(partition, first);
      from.set(partition, first);
    }
    const isBehind = [...found].some(([partition, { high }]) => (from.get(partition) ?? 0) < high);
    if (isBehind) for await (const placed of reader.read(topic, { from, abort })) take(placed);
    // What is left out at the end are the marks of transactions.
    for (const [partition, { high }] of found) next.set(partition, Math.max(high, next.get(partition) ?? 0));
  }

  return {
    readOn: () =>
      (reading ??= read().finally(() => {
        reading = undefined;
      })),
    find: (id) => letters.get(id),
    all: () => (sorted ??= [...letters.values()].toSorted(newestFirst)),
    older: () => {
      let sum = 0;
      for (const [partition, { low }] of bounds) sum += Math.max(0, (begin.get(partition) ?? low) - low);
      return sum;
    },
  };
}
