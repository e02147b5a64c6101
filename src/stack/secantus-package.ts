import { existsSync } from "node:fs";
import { join } from "node:path";

import { lastLines, runCommand } from "./command.ts";
import { installOnce } from "./install.ts";
import type { LaunchOptions } from "./stack.ts";
import { ToolMissing, type Python } from "./toolchain.ts";
import { versions } from "./versions.ts";

/** How many packages pip collects: SecantusDB and what it needs. Only scales the progress. */
const expectedPackages = 9;

/**
 * The folder with SecantusDB and what it needs, for this Python, downloaded by pip when it is not there yet. Throws
 * ToolMissing without pip, and an Error with pip's own words when pip fails.
 */
export async function secantusPackage(
  python: Python,
  { toolsFolder, report }: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<string> {
  const folder = join(toolsFolder, `secantusdb-${versions.secantusdb}-${python.abi}`);
  if (existsSync(folder)) return folder;
  const step = `downloading SecantusDB ${versions.secantusdb} with pip`;
  report(step, 0);
  await installOnce(folder, async (temporary) => {
    let packages = 0;
    await download(python, temporary, () => {
      report(step, Math.min(0.99, ++packages / (expectedPackages + 1)));
    });
  });
  report(step, 1);
  return folder;
}

async function download(python: Python, folder: string, collected: () => void): Promise<void> {
  const pip = (...args: string[]) =>
    runCommand(python.command, ["-m", "pip", ...args], {
      // A user's own pip settings may ask for things that contradict --target.
      env: { PIP_USER: "0", PIP_DISABLE_PIP_VERSION_CHECK: "1", PIP_NO_INPUT: "1" },
      onLine: (line) => {
        if (line.startsWith("Collecting ")) collected();
      },
    });
  if ((await pip("--version")).code !== 0)
    throw new ToolMissing(
      `python3 has no pip to download SecantusDB ${versions.secantusdb} with: install pip (Debian: python3-pip)`,
    );
  // Into a folder of its own: nothing of the machine's Python is touched. Only what is built already: a compiler and half
  // an hour are too much to ask for.
  const target = ["--target", folder, "--only-binary", ":all:", "--no-warn-conflicts"];
  const { code, stdout, stderr } = await pip("install", ...target, `secantusdb==${versions.secantusdb}`);
  if (code === 0) return;
  const complaint = /^ERROR: .*/m.exec(stderr)?.[0] ?? lastLines(stdout + stderr, 10);
  throw new Error(
    `pip could not download SecantusDB ${versions.secantusdb}: ${complaint}\n` +
      "It needs the network, or a mirror that pip's settings name, and a Python that SecantusDB is built for",
  );
}
