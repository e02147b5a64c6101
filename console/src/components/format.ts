const integer = new Intl.NumberFormat();
const oneDecimal = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** "–" for null, an unknown value. */
export const formatCount = (value: number | null): string => (value === null ? "–" : integer.format(value));

/** With at most one decimal; "–" for null. */
export const formatNumber = (value: number | null): string =>
  value === null ? "–" : oneDecimal.format(value);
