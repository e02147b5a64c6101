/**
 * What is known of the mutants from their last runs, and their counts in
 * test/simulation/README.md.
 */
import { readFileSync, writeFileSync } from "node:fs";

import { mutants } from "./index.ts";

/**
 * What a run found. Neither member is known of a mutant that only its schedule finds, and that fails without
 * a text.
 */
export interface MutantResult {
  /** How many seeds ran until it was found, or until the search ended. */
  readonly seeds?: number;
  readonly seconds?: number;
  /** What the seeds had, if it was not the ordinary mixture of faults. */
  readonly with?: string;
  /** The violation that gave it away; missing if it was not found. */
  readonly as?: string;
}

const file = new URL("results.json", import.meta.url);
const page = new URL("../README.md", import.meta.url);
const begin = "<!-- mutants: written by npm run docs -->";
const end = "<!-- end of mutants -->";

export const readResults = (): Record<string, MutantResult> =>
  JSON.parse(readFileSync(file, "utf8")) as Record<string, MutantResult>;

/**
 * Stores these results, and forgets mutants that do not exist any more. A violation keeps the words that it
 * had.
 */
export function recordResults(found: ReadonlyMap<string, MutantResult>): void {
  const former = readResults();
  const results = mutants
    .filter(({ isEquivalent }) => isEquivalent === undefined)
    .map(({ name }): [string, MutantResult | undefined] => {
      const [result, last] = [found.get(name), former[name]];
      if (result?.as === undefined || last?.as === undefined) return [name, result ?? last];
      return [name, { ...result, as: last.as }];
    });
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(results), undefined, 2)}\n`);
}

/** The violation without its numbers, which differ between runs. */
const toViolation = (result: MutantResult | undefined): string | undefined =>
  result?.as?.replaceAll(/ \d+\b/g, "");

/** Counts the mutants and their violations, and names those that are not found yet. */
function formatCounts(): string {
  const results = readResults();
  const wrong = mutants.filter(({ isEquivalent }) => isEquivalent === undefined);
  const violations = Map.groupBy(wrong, ({ name }) => toViolation(results[name]));
  const scheduled = wrong.filter(({ schedule }) => schedule !== undefined).length;
  const missing = violations.get(undefined)?.map(({ name }) => `- not found yet: ${name}`) ?? [];
  violations.delete(undefined);
  return [
    `- ${wrong.length} mutants, found by ${violations.size} kinds of violations`,
    `- ${scheduled} of them by a schedule that was written or shortened for them`,
    ...missing,
  ].join("\n");
}

/** Returns the page with the current counts between its markers. */
export function writeMutantCounts(text = readFileSync(page, "utf8")): string {
  const [head, rest] = text.split(begin);
  const tail = rest?.split(end)[1];
  if (head === undefined || tail === undefined) throw new Error(`${page.pathname} has no markers`);
  return `${head}${begin}\n\n${formatCounts()}\n\n${end}${tail}`;
}

export const mutantPage = page;
