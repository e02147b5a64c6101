/** The schedules in regressions.jsonl, one a line. Each once failed, or fails with a mutant. */
import { readFileSync } from "node:fs";

import type { Schedule } from "./run.ts";

export interface Regression extends Schedule {
  readonly name: string;
}

const file = new URL("regressions.jsonl", import.meta.url);

export const readRegressions = (): readonly Regression[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Regression);

/** Returns a line for regressions.jsonl. */
export const formatRegression = ({ name, world, seed, steps }: Regression): string =>
  JSON.stringify({ name, world, seed, steps });
