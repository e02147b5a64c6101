/** Years have four digits in RFC 3339. */
const maxTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Converts milliseconds since 1970; undefined for anything that is not a time. The timestamp of a record may
 * be any number: -1 is Kafka's "none", and some producers send microseconds.
 */
export const toTime = (milliseconds: number): Date | undefined =>
  milliseconds >= 0 && milliseconds <= maxTimeMs ? new Date(milliseconds) : undefined;

/** An RFC 3339 time on an existing day: JavaScript parses 31 February as 3 March. */
export function isDateTime(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text)) return false;
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(Date.parse(text)) && day.toISOString().startsWith(text.slice(0, 10));
}

/**
 * The time of an update: later than that of the version before, also if the clock of this process is behind.
 * It tells versions apart. A record that another program wrote may have no time.
 */
export const getUpdateTime = (now: Date, previous: Date | undefined): Date =>
  new Date(Math.max(now.getTime(), (Number(previous) || 0) + 1));
