/** The batches of a log. */
import { createBatch, placeBatch, readHeader, type BatchRecord } from "../wire/batches.ts";

export interface StoredRecord extends Omit<BatchRecord, "offsetDelta"> {
  readonly offset: number;
}

/** The part of a producer's transaction in one partition. */
export interface Transaction {
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly firstOffset: number;
  /** The offset of the marker; infinite while it is open. */
  lastOffset: number;
  state: "open" | "committed" | "aborted";
}

export interface Batch {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly maxTimestamp: number;
  readonly isControl: boolean;
  readonly transaction: Transaction | undefined;
  readonly bytes: Buffer;
  readonly records: readonly StoredRecord[];
}

/** What readers of committed records get. */
export const isReadable = ({ isControl, transaction }: Batch): boolean =>
  !isControl && (transaction === undefined || transaction.state === "committed");

/** Returns the batch with other records. */
export function rewriteBatch(batch: Batch, records: readonly StoredRecord[]): Batch {
  const { baseOffset, lastOffset, bytes } = batch;
  const written = createBatch(
    records.map(({ offset, ...record }) => ({ ...record, offsetDelta: offset - baseOffset })),
    { ...readHeader(bytes), lastOffsetDelta: lastOffset - baseOffset },
    records.length === 0 ? batch.maxTimestamp : undefined,
  );
  return { ...batch, records, bytes: placeBatch(written, baseOffset, 0) };
}
