/** The table of mutants in test/simulation/README.md: what is known from their last runs, in the order of the code. */
import { readFileSync, writeFileSync } from "node:fs";

import { mutants, type Mutant } from "./index.ts";

/** What a run found. Neither member is known of a mutant that only its schedule finds, and that fails without a text. */
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

/** Stores results beside those of other mutants, and forgets mutants that do not exist any more. */
export function recordResults(found: ReadonlyMap<string, MutantResult>): void {
  const former = readResults();
  const results = mutants
    .filter(({ isEquivalent }) => isEquivalent === undefined)
    .map(({ name }): [string, MutantResult | undefined] => [name, found.get(name) ?? former[name]]);
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(results), undefined, 2)}\n`);
}

function formatRow({ name, isEquivalent, schedule }: Mutant, result: MutantResult | undefined): string {
  if (isEquivalent !== undefined) return `| ${name} | – | nothing: ${isEquivalent} |`;
  if (schedule !== undefined) return `| ${name} | its schedule | ${result?.as ?? "a violation"} |`;
  if (result?.seeds === undefined) throw new Error(`the mutant "${name}" has no result; see --record`);
  const seeds = `${result.seeds.toLocaleString("en-US")} seeds`;
  const effort = result.with === undefined ? seeds : `${seeds} with ${result.with}`;
  return result.as === undefined
    ? `| ${name} | – | not found in ${effort} |`
    : `| ${name} | ${effort} | ${result.as} |`;
}

function formatTable(): string {
  const results = readResults();
  const rows = mutants.map((mutant) => formatRow(mutant, results[mutant.name]));
  return ["| mutant | found after | as |", "|---|---|---|", ...rows].join("\n");
}

/** Returns the page with the current table between its markers. */
export function writeMutantTable(text = readFileSync(page, "utf8")): string {
  const [head, rest] = text.split(begin);
  const tail = rest?.split(end)[1];
  if (head === undefined || tail === undefined) throw new Error(`${page.pathname} has no markers`);
  return `${head}${begin}\n\n${formatTable()}\n\n${end}${tail}`;
}

export const mutantPage = page;
