interface SparklineProps {
  /** At even distances in time; null where it is not known. */
  readonly values: readonly (number | null)[];
  /** What it shows, for those who do not see it. */
  readonly label: string;
}

const width = 360;
const height = 48;

/** A line of how a number changed, from zero to its largest. */
export function Sparkline({ values, label }: SparklineProps) {
  const largest = Math.max(1, ...values.map((value) => value ?? 0));
  const step = width / Math.max(1, values.length - 1);
  let path = "";
  let isDown = false;
  for (const [i, value] of values.entries()) {
    if (value !== null)
      path += `${isDown ? "L" : "M"}${(i * step).toFixed(1)} ${(height - 1 - (value / largest) * (height - 2)).toFixed(1)}`;
    isDown = value !== null;
  }
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path d={path} />
    </svg>
  );
}
