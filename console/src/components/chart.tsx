import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import { formatNumber } from "./format.ts";

interface Line {
  readonly name: string;
  /** Null if unknown, which leaves a gap. */
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly name: string;
  /** In seconds since 1970, ascending. */
  readonly times: readonly number[];
  /** At most two; each has a value per time. */
  readonly lines: readonly Line[];
}

/** A line chart of the last hour, from zero, with a description for screen readers. */
export function Chart({ name, times, lines }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const lineNames = lines.map((line) => line.name);

  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const created = new uPlot(createOptions(element, lineNames), undefined, element);
    plot.current = created;
    const resizing = new ResizeObserver(() => {
      created.setSize({ width: element.clientWidth, height });
    });
    resizing.observe(element);
    // The canvas does not follow the style sheet.
    const recoloring = new MutationObserver(() => {
      created.redraw(false);
    });
    recoloring.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      resizing.disconnect();
      recoloring.disconnect();
      created.destroy();
    };
  }, [lineNames.join()]);

  useEffect(() => {
    plot.current?.setData([[...times], ...lines.map(({ values }) => [...values])]);
  }, [times, lines]);

  return (
    <figure class="chart">
      <figcaption>{name}</figcaption>
      <div ref={box} role="img" aria-label={`${name} during the last hour. ${describe(times, lines)}`} />
    </figure>
  );
}

const height = 170;
/** The axis is at least this long: an instance that has just started has few values. */
const minSeconds = 600;
/** The room for the labels around the chart. */
const axisSizes = { time: 30, value: 46 } as const;

const axisFormat = new Intl.NumberFormat(undefined, { notation: "compact", maximumSignificantDigits: 3 });
const timeFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const formatTime = (seconds: number): string => timeFormat.format(seconds * 1_000);

/** 0.1, 0.2, 0.5, 1, 2, 5, … */
const valueSteps = Array.from({ length: 14 }, (_, i) => [1, 2, 5].map((one) => one * 10 ** (i - 1))).flat();
const timeSteps = [1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60);

function createOptions(element: HTMLElement, lineNames: readonly string[]): uPlot.Options {
  const getColor = (property: string) => (): string =>
    getComputedStyle(element).getPropertyValue(property).trim();
  const axis: uPlot.Axis = {
    stroke: getColor("--pico-color"),
    grid: { stroke: getColor("--chart-grid"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height,
    scales: {
      x: { range: (_, first, last) => [Math.min(first, last - minSeconds), last] },
      y: { range: (_, __, largest) => [0, Math.max(1, largest * 1.1)] },
    },
    axes: [
      {
        ...axis,
        size: axisSizes.time,
        space: 70,
        incrs: timeSteps,
        values: (_, splits) => splits.map(formatTime),
      },
      {
        ...axis,
        size: axisSizes.value,
        incrs: valueSteps,
        values: (_, splits) => splits.map((value) => axisFormat.format(value)),
      },
    ],
    series: [
      { label: "Time", value: (plot, _, __, at) => formatAt(plot, 0, at, formatTime) },
      ...lineNames.map((label, i) => ({
        label,
        stroke: getColor(`--chart-line-${i + 1}`),
        width: 2,
        // Distinguishable without colors.
        ...(i > 0 && { dash: [5, 4] }),
        points: { show: false },
        value: (plot: uPlot, _: number, line: number, at: number | null) =>
          formatAt(plot, line, at, formatNumber),
      })),
    ],
    legend: { markers: { width: 0, fill: (_, line) => `var(--chart-line-${line})` } },
    cursor: { y: false, drag: { x: false, y: false, setScale: false } },
  };
}

/** Formats the value below the cursor; without one, the last value. */
function formatAt(
  { data }: uPlot,
  line: number,
  at: number | null,
  format: (value: number) => string,
): string {
  const values = data[line];
  const value = at === null ? values?.at(-1) : values?.[at];
  return value === null || value === undefined ? "–" : format(value);
}

/** The last and the largest value of each line, in words. */
function describe(times: readonly number[], lines: readonly Line[]): string {
  return lines.map(({ name, values }) => describeLine(name, values, times)).join(" ");
}

function describeLine(name: string, values: readonly (number | null)[], times: readonly number[]): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `${name}: unknown.`;
  const largest = Math.max(...known);
  const at = times[values.indexOf(largest)];
  const now = values.at(-1) ?? null;
  return `${name}: ${now === null ? "now unknown" : `now ${formatNumber(now)}`}, at most ${formatNumber(largest)}${at === undefined ? "" : ` at ${formatTime(at)}`}.`;
}
