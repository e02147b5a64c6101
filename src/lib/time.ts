/** Years have four digits in RFC 3339. */
const maxTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Converts milliseconds since 1970; undefined for anything that is not a time. The timestamp of a record may
 * be any number: -1 is Kafka's "none", and some producers send microseconds.
 */
export const toTime = (milliseconds: number): Date | undefined =>
  milliseconds >= 0 && milliseconds <= maxTimeMs ? new Date(milliseconds) : undefined;
