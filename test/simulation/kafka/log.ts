/** A simulated Kafka topic: the logs of its partitions, with transactions, compaction and retention. */

export interface StoredRecord {
  readonly offset: number;
  readonly timestamp: number;
  readonly key: string | null;
  readonly value: string | null;
}

/** A transaction of a producer in one partition. */
interface ProducerTransaction {
  state: "open" | "committed" | "aborted";
}

/** A record, or the marker that ends a transaction. */
interface Entry {
  readonly offset: number;
  readonly timestamp: number;
  readonly record: StoredRecord | undefined;
  readonly transaction: ProducerTransaction | undefined;
}

export interface FetchedRange {
  readonly records: readonly StoredRecord[];
  /** Where the entries begin, after what compaction removed. Of an emptied batch, only the last offset is known. */
  readonly first: number;
  /** The offset after everything fetched. */
  readonly end: number;
}

/** The log of one partition of one topic. A topic that is made anew has other logs. */
export interface PartitionLog {
  /** Unique in the world. */
  readonly id: number;
  /** The id of the topic that it belongs to. */
  readonly topicId: string;
  readonly append: (
    records: readonly Omit<StoredRecord, "offset">[],
    end?: "commit" | "abort" | "leave open",
  ) => void;
  /** Ends the open transaction, if there is one. */
  readonly endTransaction: (timestamp: number, commit: boolean) => void;
  readonly getLow: () => number;
  /** The offset after the last entry. */
  readonly getEnd: () => number;
  /** The last stable offset: later records cannot be read before a transaction ends. */
  readonly getStable: () => number;
  /** The committed records from an offset on; undefined when it is out of range. */
  readonly fetch: (from: number, maxOffsets: number) => FetchedRange | undefined;
  /** Every record that can be read. */
  readonly readAll: () => readonly StoredRecord[];
  /** Keeps the last record of each key, and tombstones only if they are newer than `tombstonesSince`. */
  readonly compact: (tombstonesSince: number) => void;
  /** Deletes everything before an offset. */
  readonly truncate: (low: number) => void;
}

export function createPartitionLog(id: number, topicId: string): PartitionLog {
  let entries: Entry[] = [];
  let low = 0;
  let end = 0;
  let open: ProducerTransaction | undefined;

  function push(entry: Omit<Entry, "offset" | "record">, record?: Omit<StoredRecord, "offset">): void {
    entries.push({ ...entry, offset: end, record: record && { ...record, offset: end } });
    end += 1;
  }

  function endTransaction(timestamp: number, commit: boolean): void {
    if (open === undefined) return;
    open.state = commit ? "committed" : "aborted";
    push({ timestamp, transaction: open });
    open = undefined;
  }

  function getStable(): number {
    if (open === undefined) return end;
    return entries.find(({ transaction }) => transaction?.state === "open")?.offset ?? end;
  }

  const isReadable = ({ record, transaction }: Entry): boolean =>
    record !== undefined && (transaction === undefined || transaction.state === "committed");

  const read = (from: number, to: number): StoredRecord[] =>
    entries.flatMap((entry) =>
      entry.offset >= from && entry.offset < to && isReadable(entry) && entry.record ? [entry.record] : [],
    );

  return {
    id,
    topicId,
    append(records, transactionEnd) {
      if (transactionEnd !== undefined) open ??= { state: "open" };
      const transaction = transactionEnd === undefined ? undefined : open;
      for (const record of records) push({ timestamp: record.timestamp, transaction }, record);
      const { timestamp } = records.at(-1) ?? { timestamp: 0 };
      if (transactionEnd === "commit") endTransaction(timestamp, true);
      if (transactionEnd === "abort") endTransaction(timestamp, false);
    },
    endTransaction,
    getLow: () => low,
    getEnd: () => end,
    getStable,
    fetch(from, maxOffsets) {
      if (from < low || from > end) return undefined;
      const stable = getStable();
      let to = Math.min(from + maxOffsets, stable);
      let records = read(from, to);
      // A batch that compaction emptied is passed over.
      while (
        records.length === 0 &&
        to < stable &&
        entries.every(({ offset }) => offset < from || offset >= to)
      ) {
        to = Math.min(to + maxOffsets, stable);
        records = read(from, to);
      }
      const first =
        entries.find(({ offset }) => offset >= from && offset < to)?.offset ?? Math.max(from, to - 1);
      return { records, first, end: Math.max(from, to) };
    },
    readAll: () => read(low, getStable()),
    compact(tombstonesSince) {
      const stable = getStable();
      const lastOfKey = new Map<string, number>();
      for (const { record, offset } of entries.filter(isReadable))
        if (record?.key != null && offset < stable) lastOfKey.set(record.key, offset);
      // The last entry stays, or the log would end earlier.
      entries = entries.filter((entry) => {
        const { record, offset, timestamp } = entry;
        if (offset >= stable || offset === end - 1) return true;
        if (!isReadable(entry)) return false;
        if (record?.key == null) return true;
        if (lastOfKey.get(record.key) !== offset) return false;
        return record.value !== null || timestamp >= tombstonesSince;
      });
    },
    truncate(newLow) {
      low = Math.max(low, Math.min(newLow, getStable()));
      entries = entries.filter(({ offset }) => offset >= low);
    },
  };
}
