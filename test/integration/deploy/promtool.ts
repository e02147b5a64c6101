import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Runs promtool in a folder. Throws an Error with all that it said when it finds fault, or when it is not there. */
export async function promtool(folder: string, ...args: string[]): Promise<void> {
  try {
    await run("promtool", args, { cwd: folder });
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (code === "ENOENT")
      throw new Error(
        "promtool is not on this machine's PATH. It comes with Debian's package prometheus: " +
          "`apt-get install --no-install-recommends prometheus`; elsewhere with Prometheus itself.",
        { cause: error },
      );
    throw new Error(`promtool ${args.join(" ")}:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}
