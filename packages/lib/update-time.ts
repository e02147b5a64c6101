/**
 * The time of an update: later than that of the version before, also if the clock of this process is behind.
 * It tells versions apart. A record that another program wrote may have no time.
 */
export const getUpdateTime = (now: Date, previous: Date | undefined): Date =>
  new Date(Math.max(now.getTime(), (Number(previous) || 0) + 1));
