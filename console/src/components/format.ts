const whole = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** A count; a dash where it is not known. */
export const counted = (value: number | null): string => (value === null ? "–" : whole.format(value));

/** A number with at most one digit behind the point; a dash where it is not known. */
export const measured = (value: number | null): string => (value === null ? "–" : short.format(value));
