import type { LogBounds, LogReader, PartitionRecord } from "../sync/records.ts";
import { parseDeadLetter, type DeadLetter, type DeadLetterCode, type IdentifyTopic } from "./dead-letter.ts";
import { getRecordBytes } from "./record-cache.ts";

/** What the index keeps of a dead letter: about 700 bytes. */
export interface DeadLetterSummary extends Pick<
  DeadLetter,
  "id" | "position" | "source" | "code" | "omitted"
> {
  /** Milliseconds since 1970. */
  readonly time: number | undefined;
  /** Cut when long, as is the external id. */
  readonly message: string;
  readonly externalId: string | undefined;
  /** Of the whole record. */
  readonly bytes: number;
  readonly copies: number;
  /**
   * The latest time seen in the partition so far. It orders the dead letters of several partitions and keeps those of one
   * partition in offset order, regardless of their own times.
   */
  readonly rank: number;
}

export interface DeadLetterIndexOptions {
  readonly reader: LogReader;
  /** The dead-letter topic. */
  readonly topic: string;
  readonly identify: IdentifyTopic;
  /** Only the newest are indexed. */
  readonly maxDeadLetters: number;
  /** Called with each record that is read. */
  readonly onRecord: (record: PartitionRecord) => void;
  /** Called while the topic is read, with the number of records. */
  readonly onProgress: (read: number, total: number) => void;
  readonly abort: AbortSignal;
}

/** An index of a dead-letter topic, as far as the topic has been read. */
export interface DeadLetterIndex {
  /** Reads to the current end of the topic. Not to be called while another call runs. Throws UnavailableError. */
  refresh(): Promise<void>;
  find(id: string): DeadLetterSummary | undefined;
  /** Newest first. */
  list(): readonly DeadLetterSummary[];
  countByCode(): Readonly<Record<string, number>>;
  /** About how many older dead letters the topic holds that are not indexed. */
  countUnlisted(): number;
}

/**
 * Creates an empty index.
 *
 * Invariant: every record from `firstOffsets` up to `nextOffsets` has been read, and `summaries` has the last copy of each dead
 * letter among them, in reading order.
 */
export function createDeadLetterIndex(options: DeadLetterIndexOptions): DeadLetterIndex {
  const { reader, topic, identify, maxDeadLetters, onRecord, onProgress, abort } = options;
  const summaries = new Map<string, DeadLetterSummary>();
  const nextOffsets = new Map<number, number>();
  const firstOffsets = new Map<number, number>();
  const ranks = new Map<number, number>();
  let bounds: ReadonlyMap<number, LogBounds> = new Map();
  let sorted: readonly DeadLetterSummary[] | undefined;
  const counts = new Map<DeadLetterCode, number>();

  function count(code: DeadLetterCode, change: 1 | -1): void {
    const next = (counts.get(code) ?? 0) + change;
    if (next === 0) counts.delete(code);
    else counts.set(code, next);
  }

  function remove(summary: DeadLetterSummary): void {
    summaries.delete(summary.id);
    count(summary.code, -1);
    sorted = undefined;
  }

  function clear(): void {
    for (const map of [summaries, nextOffsets, firstOffsets, ranks, counts]) map.clear();
    sorted = undefined;
  }

  function add(placed: PartitionRecord): void {
    const { partition, record } = placed;
    const letter = parseDeadLetter(topic, placed, identify);
    const rank = Math.max(ranks.get(partition) ?? 0, letter.time?.getTime() ?? 0);
    const previous = summaries.get(letter.id);
    if (previous !== undefined) remove(previous);
    const copies = (previous?.copies ?? 0) + 1;
    count(letter.code, 1);
    summaries.set(letter.id, summarize(letter, { bytes: getRecordBytes(placed), copies, rank }));
    ranks.set(partition, rank);
    nextOffsets.set(partition, record.offset + 1);
    sorted = undefined;
    if (summaries.size > maxDeadLetters) removeOldest();
    onRecord(placed);
  }

  function removeOldest(): void {
    const oldest = summaries.values().next().value;
    if (oldest === undefined) return;
    remove(oldest);
    const { partition, offset } = oldest.position;
    firstOffsets.set(partition, Math.max(firstOffsets.get(partition) ?? 0, offset + 1));
  }

  /** Removes what the topic's retention has deleted. */
  function removeDeleted(): void {
    for (const summary of summaries.values()) {
      const { partition, offset } = summary.position;
      if (offset < (bounds.get(partition)?.low ?? Infinity)) remove(summary);
    }
  }

  /** Where to read on. A large topic is read from its newest records, an equal share of each partition. */
  function findStart(): Map<number, number> {
    const share = Math.ceil(maxDeadLetters / Math.max(bounds.size, 1));
    const from = new Map<number, number>();
    for (const [partition, { low, high }] of bounds) {
      const next = nextOffsets.get(partition) ?? low;
      const first = Math.max(low, next, high - share);
      if (first > next) firstOffsets.set(partition, first);
      from.set(partition, first);
    }
    return from;
  }

  async function readFrom(from: ReadonlyMap<number, number>): Promise<void> {
    const total = sum([...bounds].map(([partition, { high }]) => high - (from.get(partition) ?? high)));
    if (total <= 0) return;
    let read = 0;
    for await (const placed of reader.read(topic, { from, abort })) {
      add(placed);
      read += 1;
      onProgress(read, total);
    }
  }

  return {
    async refresh() {
      const found = (await reader.fetchBounds(topic)) ?? new Map<number, LogBounds>();
      const isRecreated = [...nextOffsets].some(
        ([partition, next]) => (found.get(partition)?.high ?? 0) < next,
      );
      if (isRecreated) clear();
      const isShortened = [...found].some(
        ([partition, { low }]) => low > (bounds.get(partition)?.low ?? low),
      );
      bounds = found;
      if (isShortened) removeDeleted();
      await readFrom(findStart());
      // The last offsets may be markers of transactions, which are not delivered.
      for (const [partition, { high }] of bounds)
        nextOffsets.set(partition, Math.max(high, nextOffsets.get(partition) ?? 0));
    },

    find: (id) => summaries.get(id),
    list: () => (sorted ??= [...summaries.values()].toSorted(compareNewestFirst)),

    countByCode: () => Object.fromEntries(counts),

    countUnlisted: () =>
      sum([...bounds].map(([partition, { low }]) => Math.max(0, (firstOffsets.get(partition) ?? low) - low))),
  };
}

export type SortKey = Pick<DeadLetterSummary, "rank"> & {
  readonly position: Pick<DeadLetterSummary["position"], "partition" | "offset">;
};

export const compareNewestFirst = (a: SortKey, b: SortKey): number =>
  b.rank - a.rank || b.position.partition - a.position.partition || b.position.offset - a.position.offset;

const maxMessageCharacters = 200;
const maxExternalIdCharacters = 1_000;

const summarize = (
  { id, position, source, code, omitted, time, message, externalId }: DeadLetter,
  rest: Pick<DeadLetterSummary, "bytes" | "copies" | "rank">,
): DeadLetterSummary => ({
  id,
  position,
  source,
  code,
  omitted: omitted === undefined ? undefined : cut(omitted, maxMessageCharacters),
  time: time?.getTime(),
  message: cut(message, maxMessageCharacters),
  externalId: externalId === undefined ? undefined : cut(externalId, maxExternalIdCharacters),
  ...rest,
});

function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  // A slice alone would keep the whole text in memory.
  return Buffer.from(`${text.slice(0, maxCharacters)}…`).toString();
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
