import { lastLines, runCommand } from "./command.ts";
import { ToolMissingError, type Python } from "./toolchain.ts";

export interface PipOptions {
  readonly python: Python;
  /** A folder of its own: nothing of the machine's Python is touched. */
  readonly folder: string;
  /** What is downloaded, for people: its name and version. */
  readonly what: string;
  /** What pip is to install, in its own words. */
  readonly requirements: readonly string[];
  /** Called for each package that pip collects. */
  readonly collected?: () => void;
}

/**
 * Downloads Python packages with pip. Only what is built already: a compiler and half an hour are too much to ask for. Throws
 * ToolMissingError without pip, and an Error with pip's own words when pip fails.
 */
export async function pipInstall(options: PipOptions): Promise<void> {
  const { python, folder, what, requirements, collected } = options;
  const pip = (...args: string[]) =>
    runCommand(python.command, ["-m", "pip", ...args], {
      // A user's own pip settings may ask for things that contradict --target.
      env: { PIP_USER: "0", PIP_DISABLE_PIP_VERSION_CHECK: "1", PIP_NO_INPUT: "1" },
      onLine: (line) => {
        if (line.startsWith("Collecting ")) collected?.();
      },
    });
  if ((await pip("--version")).code !== 0)
    throw new ToolMissingError(
      `python3 has no pip to download ${what} with: install pip (Debian: python3-pip)`,
    );
  const target = ["--target", folder, "--only-binary", ":all:", "--no-warn-conflicts"];
  const { code, stdout, stderr } = await pip("install", ...target, ...requirements);
  if (code === 0) return;
  const complaint = /^ERROR: .*/m.exec(stderr)?.[0] ?? lastLines(stdout + stderr, 10);
  throw new Error(
    `pip could not download ${what}: ${complaint}\n` +
      "It needs the network, or a mirror that pip's settings name, and a Python that it is built for",
  );
}
