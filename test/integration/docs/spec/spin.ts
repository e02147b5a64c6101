import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { useFolder } from "../../../support/folder.ts";
import { root } from "../pages.ts";

const execute = promisify(execFile);
const folder = useFolder();

export const specFolder = join(root, "docs/spec");

/** No execution of the model is that long, so none is cut off. */
const maxSteps = 20_000;
const maxMemoryMb = 1_024;

async function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await execute(program, args, { cwd });
    return stdout;
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (code === "ENOENT")
      throw new Error(
        `${program} is not on the PATH. Install Debian's packages spin, gcc and libc6-dev: ` +
          "`apt-get install --no-install-recommends spin gcc libc6-dev`.",
        { cause: error },
      );
    throw new Error(`${program} ${args.join(" ")}:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}

export interface Check {
  /** The first violation that was found. */
  readonly violation: string | undefined;
  readonly isEveryStepTaken: boolean;
}

/**
 * Checks the model with these switches; with LIVENESS, what happens eventually instead of deadlocks. Throws
 * an Error if the search was not completed.
 *
 * @param isFull - No violation is expected: compiled for a fast search instead of compiled fast.
 */
export async function checkModel(
  switches: readonly string[],
  { isFull = false }: { readonly isFull?: boolean } = {},
): Promise<Check> {
  const cwd = mkdtempSync(join(folder.path, "model-"));
  const isLiveness = switches.includes("LIVENESS");
  const model = join(specFolder, "partition-protocol.pml");
  await run(cwd, "spin", "-a", ...switches.map((name) => `-D${name}`), model);
  const kind = isLiveness ? [] : ["-DSAFETY", "-DNOCLAIM"];
  const limit = `-DMEMLIM=${maxMemoryMb}`;
  await run(cwd, "gcc", isFull ? "-O1" : "-O0", "-w", ...kind, limit, "-o", "pan", "pan.c");
  // Of endless executions, only those count in which every process gets its turn.
  const search = isLiveness ? ["-a", "-f", "-E"] : [];
  const output = await run(cwd, join(cwd, "pan"), ...search, `-m${maxSteps}`, "-w22");
  const violation = /^pan:1: (.+) \(at depth \d+\)$/m.exec(output)?.[1];
  const isCompleted = /errors: 0$/m.test(output) && !/^error:|Search not completed/m.test(output);
  if (violation === undefined && !isCompleted) throw new Error(`the search was not completed:\n${output}`);
  return { violation, isEveryStepTaken: output.includes("unreached in proctype reader\n\t(0 of ") };
}
