import { appendFileSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder where `npm test` keeps the logs of a run and their secrets; undefined outside of a run. */
const folder = process.env["TEST_LOGS"];

/** Shorter texts occur in logs by chance. */
const minLength = 8;

/** Records texts that no log of this test's services and commands may contain, such as passwords. */
export function keepSecret(...texts: readonly unknown[]): void {
  if (folder === undefined) return;
  for (const text of texts) {
    if (typeof text !== "string" || text.length < minLength) continue;
    appendFileSync(join(folder, `${process.pid}.secrets`), `${JSON.stringify(text)}\n`);
  }
}

/** Keeps the log of a service or a command of this test, to be searched after the run. */
export function keepLog(text: string): void {
  if (folder !== undefined && text !== "") appendFileSync(join(folder, `${process.pid}.log`), text);
}

/** Returns a file for a service's own log, which is searched as well. */
export const ownLogFile = (name: string): string =>
  join(folder ?? ".topicsync", `${process.pid}-${name}.log`);

/** The result of the search. */
export interface Findings {
  /** Lines with a secret, each with its file. */
  readonly leaks: readonly string[];
  readonly lines: number;
  readonly secrets: number;
}

/** Searches the logs of a run: those of each test for the secrets of that test. */
export function findLeaks(logs: string): Findings {
  const leaks: string[] = [];
  let lines = 0;
  let secrets = 0;
  for (const file of globSync("*.log", { cwd: logs })) {
    const its = readSecrets(join(logs, `${/^\d+/.exec(file)?.[0] ?? ""}.secrets`));
    secrets += its.length;
    for (const line of readFileSync(join(logs, file), "utf8").split("\n")) {
      lines += 1;
      if (its.some((secret) => line.includes(secret))) leaks.push(`${file}: ${line.slice(0, 1_000)}`);
    }
  }
  return { leaks, lines, secrets };
}

/** The texts themselves, and their form within JSON. */
function readSecrets(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  const quoted = text.split("\n").filter((line) => line !== "");
  return [...new Set(quoted.flatMap((one) => [one.slice(1, -1), JSON.parse(one) as string]))];
}
