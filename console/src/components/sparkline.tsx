interface SparklineProps {
  /** At even distances in time, the last one now; null where it is not known. */
  readonly values: readonly (number | null)[];
  /** How many values the whole width is for: with fewer, its left is empty. */
  readonly most: number;
  /** What it shows, for those who do not see it. */
  readonly label: string;
}

const width = 360;
const height = 48;

/** A line of how a number changed, from zero to its largest. */
export function Sparkline({ values, most, label }: SparklineProps) {
  const largest = Math.max(1, ...values.map((value) => value ?? 0));
  const step = width / (most - 1);
  const begin = most - values.length;
  let path = "";
  let isDown = false;
  for (const [i, value] of values.entries()) {
    if (value !== null)
      path += `${isDown ? "L" : "M"}${((begin + i) * step).toFixed(1)} ${(height - 1 - (value / largest) * (height - 2)).toFixed(1)}`;
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
