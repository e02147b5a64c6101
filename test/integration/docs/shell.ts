import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Block } from "./pages.ts";

/** A command of a page, its expected output and its actual output. */
export interface CommandOutput {
  readonly place: string;
  readonly command: string;
  readonly shown: string;
  readonly actual: string;
}

interface Step {
  readonly place: string;
  readonly command: string;
  /** The expected output. Undefined if the page shows none; then the command must succeed. */
  readonly shown: string | undefined;
}

/**
 * Splits a block into steps: a block of `sh` is one; in `console`, each `$ ` begins one and `> ` continues
 * it.
 */
function parseSteps({ place, info, text }: Block): Step[] {
  if (info === "sh") return [{ place, command: text, shown: undefined }];
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((session) => {
      const [, first = "", further = "", shown = ""] = /^(.*\n)((?:> .*\n)*)([^]*)$/.exec(session) ?? [];
      return { place, command: first + further.replaceAll(/^> /gm, ""), shown };
    });
}

export interface Shell {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Runs `sh` and `console` blocks of a page in one bash. Throws if a command of `sh` fails. Returns the output
 * of the `console` commands, which may fail: pages also show errors.
 */
export async function runBlocks(blocks: readonly Block[], { cwd, env }: Shell): Promise<CommandOutput[]> {
  const folder = join(cwd, ".outputs");
  mkdirSync(folder, { recursive: true });
  const outputFile = (index: number): string => join(folder, String(index));
  const errors = join(folder, "errors");
  const trace = join(folder, "trace");
  const steps = blocks.flatMap(parseSteps);
  const script = steps.map(
    ({ place, command, shown }, index) =>
      `: ${place}\n{\n${command}\n} >'${outputFile(index)}' 2>'${errors}'${shown === undefined ? "" : " || true"}`,
  );
  const path = join(folder, "script");
  writeFileSync(path, [`exec 9>'${trace}'; BASH_XTRACEFD=9; set -euxo pipefail`, ...script].join("\n"));

  const bash = spawn("bash", [path], { cwd, env, stdio: "ignore" });
  await once(bash, "close");
  if (bash.exitCode !== 0) {
    const last = readFileSync(trace, "utf8").trimEnd().split("\n").slice(-3).join("\n");
    throw new Error(`exit code ${bash.exitCode ?? "none"} of\n${last}\n${readFileSync(errors, "utf8")}`);
  }
  return steps.flatMap(({ place, command, shown }, index) =>
    shown === undefined ? [] : [{ place, command, shown, actual: readFileSync(outputFile(index), "utf8") }],
  );
}

/** Whether an output is what the page shows, except for ids, times and spaces. `…` matches anything. */
export function isAsShown(shown: string, actual: string): boolean {
  const parts = normalize(shown).split("…");
  const pattern = parts.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("[^]*");
  return new RegExp(`^${pattern}$`).test(normalize(actual));
}

/** Replaces what differs from run to run, including the widths of columns. */
const normalize = (text: string): string =>
  text
    .replaceAll(/\b[0-9a-f]{32}\b/g, "ID")
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::[\d.]+Z)?/g, "TIME")
    .replaceAll(/\b\d+(?:\.\d+)? ?(?:ms|s|m|min|h|d)\b/g, "AGE")
    .replaceAll(/─+/g, "─")
    .replaceAll(/[ \t]+/g, " ")
    .replaceAll(/ $/gm, "")
    .trim();
