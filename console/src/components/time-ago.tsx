const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

const units = [
  { unit: "day", seconds: 86_400 },
  { unit: "hour", seconds: 3_600 },
  { unit: "minute", seconds: 60 },
  { unit: "second", seconds: 1 },
] as const;

/** A relative time, with the exact local time on hover. */
export function TimeAgo({ time }: { readonly time: string }) {
  const at = new Date(time);
  const seconds = (at.getTime() - Date.now()) / 1_000;
  const { unit, seconds: length } = units.find(({ seconds: one }) => Math.abs(seconds) >= one) ?? units[3];
  return (
    <time dateTime={time} title={exact.format(at)}>
      {relative.format(Math.round(seconds / length), unit)}
    </time>
  );
}

const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Formats a time as the local one. */
export const formatTime = (time: string): string => short.format(new Date(time));

export const formatTimeRange = (from: string, to: string): string =>
  short.formatRange(new Date(from), new Date(to));

export const Time = ({ time }: { readonly time: string }) => <time dateTime={time}>{formatTime(time)}</time>;
