/**
 * The list of mutants in test/simulation/README.md: what is known from their last runs, in the order of the
 * code.
 */
import { readFileSync, writeFileSync } from "node:fs";

import { mutants, type Mutant } from "./index.ts";

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
const toViolation = (result: MutantResult | undefined): string =>
  result?.as?.replaceAll(/ \d+\b/g, "") ?? "not found yet";

/** Lists the mutants by how they are found, in the order of the code. */
function formatList(): string {
  const results = readResults();
  const groups = Map.groupBy(mutants, (mutant) =>
    mutant.isEquivalent === undefined ? toViolation(results[mutant.name]) : "changes nothing",
  );
  return [...groups]
    .map(([violation, group]) => {
      const items = group.map(({ name, schedule }) => (schedule === undefined ? name : `${name} (schedule)`));
      return wrap(`- **${violation}:** ${items.join("; ")}`).join("\n");
    })
    .join("\n");
}

const maxLineLength = 110;

/** Breaks the text of a list item into lines. */
function wrap(item: string): string[] {
  const lines = [""];
  for (const word of item.split(" ")) {
    const line = lines.at(-1) ?? "";
    const longer = line === "" ? word : `${line} ${word}`;
    if (longer.length <= maxLineLength) lines[lines.length - 1] = longer;
    else lines.push(`  ${word}`);
  }
  return lines;
}

/** Returns the page with the current list between its markers. */
export function writeMutantList(text = readFileSync(page, "utf8")): string {
  const [head, rest] = text.split(begin);
  const tail = rest?.split(end)[1];
  if (head === undefined || tail === undefined) throw new Error(`${page.pathname} has no markers`);
  return `${head}${begin}\n\n${formatList()}\n\n${end}${tail}`;
}

export const mutantPage = page;
