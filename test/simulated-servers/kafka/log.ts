/** The log of a partition, as bytes: batches, transactions and their markers, retention and compaction. */
import { createMarker, placeBatch, readHeader, readRecords, type BatchHeader } from "../wire/batches.ts";
import { codes } from "./errors.ts";
import { isReadable, rewriteBatch, type Batch, type StoredRecord, type Transaction } from "./log-batches.ts";

/** A producer of a transaction, as batches name it. */
export interface ProducerIdentity {
  readonly producerId: number;
  readonly producerEpoch: number;
}

interface ProducerState {
  epoch: number;
  nextSequence: number;
  /** The last batches, by which repetitions are recognised. */
  recent: readonly { readonly firstSequence: number; readonly count: number; readonly baseOffset: number }[];
}

export interface Appended {
  readonly error: number;
  readonly baseOffset: number;
}

export interface ReadOptions {
  /** Nothing from this offset on is read. */
  readonly until: number;
  readonly maxBytes: number;
  readonly maxBatches: number;
}

export interface ReadBatches {
  readonly bytes: Buffer;
  readonly aborted: readonly { readonly producerId: number; readonly firstOffset: number }[];
  /** What a consumer with "read committed" delivers of it. */
  readonly records: readonly StoredRecord[];
  /** The offset after everything read. */
  readonly end: number;
}

/** As many as a broker keeps for each producer. */
const maxRecent = 5;

export class PartitionLog {
  /** Unique in the world; a later log has a higher one. */
  readonly id: number;
  #batches: Batch[] = [];
  #low = 0;
  #end = 0;
  readonly #producers = new Map<number, ProducerState>();
  #transactions: Transaction[] = [];

  constructor(id: number) {
    this.id = id;
  }

  get low(): number {
    return this.#low;
  }

  /** The offset after the last entry. */
  get end(): number {
    return this.#end;
  }

  /** The last stable offset: later records cannot be read before a transaction ends. */
  get stable(): number {
    return Math.min(this.#end, ...this.listOpen().map(({ firstOffset }) => firstOffset));
  }

  get hasOpenTransaction(): boolean {
    return this.listOpen().length > 0;
  }

  /** The transactions that have no end yet. */
  listOpen(): readonly Transaction[] {
    return this.#transactions.filter(({ state }) => state === "open");
  }

  /**
   * Appends a batch that was sent. `verify` asks the transaction's coordinator before a transaction begins
   * here; it returns an error code.
   */
  append(sent: Buffer, leaderEpoch: number, verify: () => number = () => codes.none): Appended {
    const header = readHeader(sent);
    const { producerId, producerEpoch, firstSequence, count, isTransactional } = header;
    const fail = (error: number): Appended => ({ error, baseOffset: -1 });
    let transaction: Transaction | undefined;
    if (producerId >= 0) {
      const state = this.#producers.get(producerId);
      if (state !== undefined && producerEpoch < state.epoch) return fail(codes.invalidProducerEpoch);
      transaction = this.#findOpen(producerId);
      const verified = isTransactional && transaction === undefined ? verify() : codes.none;
      if (verified !== codes.none) return fail(verified);
      const isNew = state === undefined || producerEpoch > state.epoch;
      if (isNew && state !== undefined && firstSequence !== 0) return fail(codes.outOfOrderSequence);
      const known = isNew ? { epoch: producerEpoch, nextSequence: firstSequence, recent: [] } : state;
      const same = known.recent.find((one) => one.firstSequence === firstSequence && one.count === count);
      if (same !== undefined) return { error: codes.none, baseOffset: same.baseOffset };
      if (firstSequence !== known.nextSequence) return fail(codes.outOfOrderSequence);
      this.#note(header, this.#end);
      if (isTransactional) transaction ??= this.#begin({ producerId, producerEpoch });
    }
    return { error: codes.none, baseOffset: this.#push(sent, leaderEpoch, header, transaction) };
  }

  /** Writes the marker that ends a producer's transaction. */
  mark(
    { producerId, producerEpoch }: ProducerIdentity,
    end: { readonly commit: boolean; readonly timestamp: number; readonly leaderEpoch: number },
  ): void {
    const transaction = this.#findOpen(producerId);
    const marker = createMarker({ producerId, producerEpoch }, end);
    const header = readHeader(marker);
    this.#note(header, this.#end);
    const at = this.#push(marker, end.leaderEpoch, header, transaction);
    if (transaction === undefined) return;
    transaction.state = end.commit ? "committed" : "aborted";
    transaction.lastOffset = at;
  }

  /** Whole batches from the one that has an offset on; at least one. */
  read(from: number, { until, maxBytes, maxBatches }: ReadOptions): ReadBatches {
    const found: Batch[] = [];
    let bytes = 0;
    for (let index = this.#findIndex(from); index < this.#batches.length; index += 1) {
      const batch = this.#batches[index];
      if (batch === undefined || batch.baseOffset >= until || found.length >= maxBatches) break;
      if (found.length > 0 && bytes + batch.bytes.length > maxBytes) break;
      found.push(batch);
      bytes += batch.bytes.length;
    }
    const last = found.at(-1)?.lastOffset ?? from - 1;
    const aborted = this.#transactions.filter(
      ({ state, firstOffset, lastOffset }) =>
        state === "aborted" && lastOffset >= from && firstOffset <= last,
    );
    return {
      bytes: Buffer.concat(found.map((batch) => batch.bytes)),
      aborted: aborted.map(({ producerId, firstOffset }) => ({ producerId, firstOffset })),
      records: found
        .filter(isReadable)
        .flatMap(({ records }) => records.filter(({ offset }) => offset >= from)),
      end: Math.max(from, last + 1),
    };
  }

  /** Every record that a reader with "read committed" gets. */
  readAll(): readonly StoredRecord[] {
    const { stable } = this;
    return this.#batches
      .filter((batch) => batch.baseOffset < stable && isReadable(batch))
      .flatMap(({ records }) => records.filter(({ offset }) => offset >= this.#low));
  }

  /** The records of a producer's open transaction. */
  readOpen(producerId: number): readonly StoredRecord[] {
    const open = this.#findOpen(producerId);
    if (open === undefined) return [];
    return this.#batches.filter(({ transaction }) => transaction === open).flatMap(({ records }) => records);
  }

  /** The sequence number that a producer's next batch must have. */
  getNextSequence(producerId: number): number {
    return this.#producers.get(producerId)?.nextSequence ?? 0;
  }

  /**
   * The first entry that is not older, as ListOffsets finds it; undefined when there is none before `until`.
   */
  findFirstSince(
    timestamp: number,
    until: number,
  ): { readonly timestamp: number; readonly offset: number } | undefined {
    for (const batch of this.#batches) {
      if (batch.baseOffset >= until) return undefined;
      if (batch.maxTimestamp < timestamp) continue;
      const record = batch.records.find((one) => one.timestamp >= timestamp && one.offset >= this.#low);
      if (record !== undefined && record.offset < until) return record;
    }
    return undefined;
  }

  /** Deletes everything before an offset. */
  truncate(offset: number): void {
    this.#low = Math.max(this.#low, Math.min(offset, this.stable));
    this.#batches = this.#batches.filter(({ lastOffset }) => lastOffset >= this.#low);
    this.#forgetTransactions();
  }

  /** Loses the batches from an offset on, as an unclean election of a leader does. */
  cut(offset: number): void {
    this.#batches = this.#batches.filter(({ lastOffset }) => lastOffset < offset);
    this.#end = Math.max(this.#low, (this.#batches.at(-1)?.lastOffset ?? this.#low - 1) + 1);
    for (const transaction of this.#transactions)
      if (transaction.lastOffset >= this.#end)
        Object.assign(transaction, { state: "open", lastOffset: Infinity });
    this.#forgetTransactions();
    this.#producers.clear();
    for (const { bytes, baseOffset } of this.#batches) this.#note(readHeader(bytes), baseOffset);
  }

  /**
   * Keeps the last record of each key, and tombstones only if they are newer than `tombstonesSince`. As in
   * Kafka, the last batch of a producer stays, also without records, and with it the marker of its
   * transaction.
   */
  compact(tombstonesSince: number): void {
    const { stable } = this;
    const cleaned = this.#batches.filter(
      ({ lastOffset }) => lastOffset < stable && lastOffset < this.#end - 1,
    );
    const lastOfKey = new Map<string, number>();
    for (const { offset, key } of this.readAll()) if (key !== null) lastOfKey.set(String(key), offset);
    const isKept = ({ key, value, offset, timestamp }: StoredRecord): boolean =>
      key === null ||
      (lastOfKey.get(String(key)) === offset && (value !== null || timestamp >= tombstonesSince));
    const removed = new Set(cleaned);
    const lastOfProducer = new Map(
      this.#batches
        .filter(({ isControl, transaction }) => transaction !== undefined && !isControl)
        .map((batch) => [batch.transaction?.producerId, batch]),
    );
    this.#batches = this.#batches.flatMap((batch) => {
      const last = lastOfProducer.get(batch.transaction?.producerId);
      const isMarkerOfLast = batch.isControl && last !== undefined && batch.transaction === last.transaction;
      if (!removed.has(batch) || isMarkerOfLast) return [batch];
      const records = isReadable(batch) ? batch.records.filter(isKept) : [];
      return records.length > 0 || batch === last ? [rewriteBatch(batch, records)] : [];
    });
    this.#forgetTransactions();
  }

  #push(
    sent: Buffer,
    leaderEpoch: number,
    header: BatchHeader,
    transaction: Transaction | undefined,
  ): number {
    const baseOffset = this.#end;
    const { lastOffsetDelta, maxTimestamp, isControl } = header;
    const bytes = placeBatch(sent, baseOffset, leaderEpoch);
    this.#batches.push({
      baseOffset,
      lastOffset: baseOffset + lastOffsetDelta,
      maxTimestamp,
      isControl,
      transaction,
      bytes,
      records: readRecords(bytes).map(({ offsetDelta, ...record }) => ({
        ...record,
        offset: baseOffset + offsetDelta,
      })),
    });
    this.#end = baseOffset + lastOffsetDelta + 1;
    return baseOffset;
  }

  /** Notes what a batch says of its producer. */
  #note(header: BatchHeader, baseOffset: number): void {
    const { producerId, producerEpoch: epoch, firstSequence, count, isControl } = header;
    if (producerId < 0) return;
    const state = this.#producers.get(producerId);
    const known =
      state !== undefined && state.epoch >= epoch ? state : { epoch, nextSequence: 0, recent: [] };
    const recent = [...known.recent, { firstSequence, count, baseOffset }].slice(-maxRecent);
    this.#producers.set(
      producerId,
      isControl ? known : { ...known, nextSequence: firstSequence + count, recent },
    );
  }

  #begin(producer: ProducerIdentity): Transaction {
    const transaction: Transaction = {
      ...producer,
      firstOffset: this.#end,
      lastOffset: Infinity,
      state: "open",
    };
    this.#transactions.push(transaction);
    return transaction;
  }

  #findOpen(producerId: number): Transaction | undefined {
    return this.#transactions.find((one) => one.producerId === producerId && one.state === "open");
  }

  #findIndex(offset: number): number {
    let [low, high] = [0, this.#batches.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#batches[middle]?.lastOffset ?? Infinity) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Of a transaction that has nothing left in the log. */
  #forgetTransactions(): void {
    const used = new Set(this.#batches.map(({ transaction }) => transaction));
    this.#transactions = this.#transactions.filter((one) => used.has(one));
  }
}
