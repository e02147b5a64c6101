/**
 * A page ends early once its records have this size as JSON, so that few large records do not fill the
 * memory.
 */
export const maxPageBytes = 4 * 1024 * 1024;

/** How many records a page reads at a time, since their size is known only afterwards. */
export const recordsPerRead = 100;

/** With how many small records a page goes on after its first read. */
const maxRecordsPerRead = 1_000;

/** How many records a page reads next, by the size of those that it has. */
export function getNextRead(count: number, bytes: number): number {
  if (count === 0) return recordsPerRead;
  const fitting = Math.floor((maxPageBytes - bytes) / (bytes / count));
  return Math.max(recordsPerRead, Math.min(fitting, maxRecordsPerRead));
}

/** The size of records as JSON; text beyond ASCII counts less than it takes. */
export const measureRecords = (records: readonly object[]): number => JSON.stringify(records).length;
