import { appendFileSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Where `npm test` keeps the logs of a run, and what must not be in them; undefined outside of one. */
const folder = process.env["TEST_LOGS"];

/** Shorter ones stand in logs by chance. */
const minLength = 8;

/** Remembers texts that no log of this test's services and commands may have: passwords, tokens, credentials. */
export function keepSecret(...texts: readonly unknown[]): void {
  if (folder === undefined) return;
  for (const text of texts) {
    if (typeof text !== "string" || text.length < minLength) continue;
    appendFileSync(join(folder, `${process.pid}.secrets`), `${JSON.stringify(text)}\n`);
  }
}

/** Keeps what a service or a command of this test logged, so that it is looked through after the run. */
export function keepLog(text: string): void {
  if (folder !== undefined && text !== "") appendFileSync(join(folder, `${process.pid}.log`), text);
}

/** A file of a service's own log that is looked through as well. */
export const ownLogFile = (name: string): string =>
  join(folder ?? ".topicsync", `${process.pid}-${name}.log`);

/** What a run's logs were found to have. */
export interface Findings {
  /** Lines with a secret, each with the file that it is in. */
  readonly leaks: readonly string[];
  readonly lines: number;
  readonly secrets: number;
}

/** Looks through the logs of a run. Each test's logs are held against the secrets of that test. */
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

/** As they are, and as they stand in JSON. */
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
