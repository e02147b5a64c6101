import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Runs promtool in a folder. Throws an Error with its output if it fails, or if it is not installed. */
export async function runPromtool(folder: string, ...args: string[]): Promise<void> {
  try {
    await run("promtool", args, { cwd: folder });
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (code === "ENOENT")
      throw new Error(
        "promtool is not on the PATH. Install Debian's package prometheus: " +
          "`apt-get install --no-install-recommends prometheus`; elsewhere it comes with Prometheus.",
        { cause: error },
      );
    throw new Error(`promtool ${args.join(" ")}:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}
