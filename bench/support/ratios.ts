import type { Report } from "./report.ts";

/** A measured ratio and its target. */
export interface Ratio {
  readonly what: string;
  readonly ratio: number;
  readonly aim: string;
  /** Undefined without a target. */
  readonly reached?: boolean;
}

export const atLeast = (aim: number, one: { what: string; ratio: number }): Ratio => ({
  ...one,
  aim: `at least ${aim}`,
  reached: one.ratio >= aim,
});

export const atMost = (text: string, aim: number, one: { what: string; ratio: number }): Ratio => ({
  ...one,
  aim: `at most ${text}`,
  reached: one.ratio <= aim,
});

export const withoutAim = (one: { what: string; ratio: number }): Ratio => ({ ...one, aim: "–" });

export const aimsReport = (title: string, ratios: readonly Ratio[], notes: readonly string[]): Report => ({
  title: `${title}, beside the aims`,
  head: ["what", "ratio", "aim", "reached"],
  rows: ratios.map(({ what, ratio, aim, reached }) => [what, ratio.toFixed(3), aim, shown(reached)]),
  notes,
  data: ratios,
});

const shown = (reached: boolean | undefined): string =>
  reached === undefined ? "–" : reached ? "yes" : "no";
