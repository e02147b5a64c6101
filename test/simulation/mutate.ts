/** Breaks copies of the product in known ways, and runs the simulation on each. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import Table from "cli-table3";

import { mutants, type Mutant } from "./mutants/index.ts";
import { recordResults, type MutantResult } from "./mutants/table.ts";
import type { Summary } from "./run.ts";

const root = resolve(import.meta.dirname, "../..");
const copied = ["package.json", "packages", "src", "consumers", "schemas", "test"];
const maxSeeds = 8_000;
const maxTries = 1_000;

interface Outcome extends Pick<Summary, "seeds" | "seconds"> {
  readonly mutant: Mutant;
  readonly failure: string | undefined;
}

/** Breaks a copy of the product. Throws if the text to replace does not occur exactly once. */
function breakCopy(folder: string, { name, file, replace, by }: Mutant): void {
  for (const path of copied) cpSync(join(root, path), join(folder, path), { recursive: true });
  linkDependencies(folder);
  const path = join(folder, file);
  const source = readFileSync(path, "utf8");
  if (source.split(replace).length !== 2)
    throw new Error(`the mutant "${name}" must find its text exactly once in ${file}`);
  writeFileSync(
    path,
    source.replace(replace, () => by),
  );
}

/** Of the packages of the project, the copies. */
function linkDependencies(folder: string): void {
  const installed = join(root, "node_modules");
  const linked = join(folder, "node_modules");
  mkdirSync(linked);
  for (const name of readdirSync(installed))
    if (name !== "@topicsync") symlinkSync(join(installed, name), join(linked, name));
  mkdirSync(join(linked, "@topicsync"));
  for (const name of readdirSync(join(folder, "packages")))
    symlinkSync(join(folder, "packages", name), join(linked, "@topicsync", name));
}

async function run(folder: string, options: readonly string[]): Promise<string> {
  const args = ["test/simulation/simulate.ts", ...options];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  for await (const chunk of child.stdout) output += String(chunk);
  return output;
}

async function runSeeds(folder: string, { world, isEquivalent }: Mutant): Promise<Omit<Outcome, "mutant">> {
  const count = String(isEquivalent === undefined ? maxSeeds : 1_000);
  const output = await run(folder, ["--json", "--seeds", count, "--world", world]);
  const { seeds, seconds, failures } = JSON.parse(output) as Summary;
  return { failure: failures[0]?.failure, seeds, seconds };
}

async function runSchedule(folder: string, name: string): Promise<Omit<Outcome, "mutant">> {
  // After a change to the product, the random numbers of a seed decide other things.
  const output = await run(folder, ["--schedule", name, "--tries", String(maxTries)]);
  return { failure: /steps: (?:Violation: )?(.*)/.exec(output)?.[1], seeds: 0, seconds: 0 };
}

async function tryMutant(mutant: Mutant): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "topicsync-mutant-"));
  try {
    breakCopy(folder, mutant);
    const { schedule } = mutant;
    const outcome = schedule === undefined ? runSeeds(folder, mutant) : runSchedule(folder, schedule);
    return { mutant, ...(await outcome) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function formatEffort({ mutant, failure, seeds, seconds }: Outcome): string {
  if (mutant.schedule !== undefined) return "its schedule";
  return failure === undefined ? `– (${seeds} seeds)` : `${seeds} seeds, ${seconds} s`;
}

/** Returns what is kept of a run: the violation without its time and its particulars. */
function toResult({ mutant, failure, seeds, seconds }: Outcome): MutantResult {
  const as = failure?.split(/:| \(at /)[0];
  const effort = mutant.schedule === undefined ? { seeds, seconds } : {};
  return as === undefined ? effort : { ...effort, as };
}

/** Keeps the results, which README.md counts. */
function recordOutcomes(outcomes: readonly Outcome[]): void {
  recordResults(new Map(outcomes.map((outcome) => [outcome.mutant.name, toResult(outcome)])));
}

/**
 * Runs every mutant whose name contains a word. Returns whether each was found, or is known to change
 * nothing.
 */
export async function runMutants(
  word: string,
  { json: asJson = false, record = false }: { json?: boolean | undefined; record?: boolean | undefined },
): Promise<boolean> {
  const table = new Table({ head: ["mutant", "found after", "as"], colWidths: [52, 22, 76], wordWrap: true });
  const outcomes: Outcome[] = [];
  for (const mutant of mutants.filter(({ name }) => name.includes(word))) {
    const outcome = await tryMutant(mutant);
    outcomes.push(outcome);
    const { failure } = outcome;
    if (!asJson) console.log(`${failure === undefined ? "not found" : "found"}: ${mutant.name}`);
    table.push([mutant.name, formatEffort(outcome), failure ?? mutant.isEquivalent ?? "not found"]);
  }
  console.log(
    asJson
      ? JSON.stringify(
          outcomes.map(({ mutant: { name, isEquivalent }, failure, seeds, seconds }) => ({
            name,
            isEquivalent,
            failure,
            seeds,
            seconds,
          })),
        )
      : table.toString(),
  );
  if (record) recordOutcomes(outcomes);
  return outcomes.every(
    ({ failure, mutant }) => (failure === undefined) === (mutant.isEquivalent !== undefined),
  );
}
