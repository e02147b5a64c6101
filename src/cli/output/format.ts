/** Formats a count with its noun: "1 topic", "2 topics". */
export const formatCount = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Formats a time to the minute, in UTC: "2026-11-22 14:05". */
export const formatMinute = (time: Date): string => time.toISOString().slice(0, 16).replace("T", " ");
