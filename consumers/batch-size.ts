import type { LogRecord } from "../src/sync/records.ts";

const maxBytesPerBatch = 4 * 1024 * 1024;
/**
 * A slower write makes the next batches smaller. One that outlasts the driver's timeout would otherwise be retried forever,
 * and the next owner of the partition waits for the write under way.
 */
const slowWriteMs = 2_000;
const fastWriteMs = 500;

/** How many records the next batch may have after a write that failed. */
export const reduceBatchSize = (records: number): number => Math.ceil(records / 2);

/** How many records the next batch may have after one that took this long to write. */
export function fitBatchSize(records: number, tookMs: number, maxRecords: number): number {
  if (tookMs > slowWriteMs) return reduceBatchSize(records);
  // Grows slowly, or every second batch would be too large for a store that takes just half.
  return tookMs < fastWriteMs ? Math.min(maxRecords, records + Math.ceil(records / 8)) : records;
}

/** Splits records into batches that one write can take. The limit may change between batches. */
export function* splitIntoBatches(
  records: readonly LogRecord[],
  maxRecords: () => number,
): Generator<readonly LogRecord[]> {
  let first = 0;
  let bytes = 0;
  for (const [index, record] of records.entries()) {
    const size = record.value?.length ?? 0;
    if (index > first && (index - first >= maxRecords() || bytes + size > maxBytesPerBatch)) {
      yield records.slice(first, index);
      first = index;
      bytes = 0;
    }
    bytes += size;
  }
  yield records.slice(first);
}
