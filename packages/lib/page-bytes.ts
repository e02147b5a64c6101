/**
 * A page ends early once its records have this size as JSON, so that few large records do not fill the
 * memory.
 */
export const maxPageBytes = 4 * 1024 * 1024;

/** How many records a page reads at a time, since their size is known only afterwards. */
export const recordsPerRead = 100;

/** The size of records as JSON; text beyond ASCII counts less than it takes. */
export const measureRecords = (records: readonly object[]): number => JSON.stringify(records).length;
