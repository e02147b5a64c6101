interface SparklineProps {
  /** Evenly spaced, the last one is now; null if unknown. */
  readonly values: readonly (number | null)[];
  /** The number of values that fill the width; with fewer, the left side is empty. */
  readonly capacity: number;
  /** Read by screen readers. */
  readonly label: string;
}

const width = 360;
const height = 48;

/** A line chart from zero to the largest value, with gaps for null. */
export function Sparkline({ values, capacity, label }: SparklineProps) {
  const largest = Math.max(1, ...values.map((value) => value ?? 0));
  const step = width / (capacity - 1);
  const offset = capacity - values.length;
  let path = "";
  let isDrawing = false;
  for (const [i, value] of values.entries()) {
    if (value !== null)
      path += `${isDrawing ? "L" : "M"}${((offset + i) * step).toFixed(1)} ${(height - 1 - (value / largest) * (height - 2)).toFixed(1)}`;
    isDrawing = value !== null;
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
