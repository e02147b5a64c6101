import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { getLastLines, runCommand } from "./command.ts";
import { downloadOnce } from "./install.ts";
import type { LaunchOptions } from "./stack.ts";
import { ToolMissingError, type Python } from "./toolchain.ts";

export const secantusVersion = "0.7.0b3";

/** The versions and digests of SecantusDB and its dependencies; pip installs no other file. */
const requirements = fileURLToPath(new URL("secantusdb.txt", import.meta.url));

/** The number of packages that pip collects: SecantusDB and its dependencies. Only scales the progress. */
const expectedPackages = 9;

/**
 * Returns the folder with SecantusDB and its dependencies for this Python, downloaded with pip unless it
 * exists. Its name depends on the requirements, so what was installed with other ones is not used. Throws as
 * installWithPip does.
 */
export async function installSecantus(
  python: Python,
  { toolsFolder, report }: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<string> {
  const digest = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 8);
  const folder = join(toolsFolder, `secantusdb-${secantusVersion}-${digest}-${python.abi}`);
  const name = `SecantusDB ${secantusVersion}`;
  const step = `downloading ${name} with pip`;
  await downloadOnce(folder, { step, parts: expectedPackages + 1, report }, (temporary, onCollected) =>
    installWithPip({
      python,
      folder: temporary,
      name,
      requirements: ["--no-deps", "--require-hashes", "--requirement", requirements],
      onCollected,
    }),
  );
  return folder;
}

interface PipOptions {
  readonly python: Python;
  /** Receives the packages; the packages of the machine's Python are not changed. */
  readonly folder: string;
  /** The name and version of the package, for messages. */
  readonly name: string;
  /** pip's requirement specifiers, and options. */
  readonly requirements: readonly string[];
  /** Called for each package that pip collects. */
  readonly onCollected?: () => void;
}

/**
 * Downloads Python packages with pip. Accepts only binary packages, since compiling needs a compiler and half
 * an hour. Throws ToolMissingError without pip, and an Error with pip's message if pip fails.
 */
export async function installWithPip(options: PipOptions): Promise<void> {
  const { python, folder, name, requirements, onCollected } = options;
  const runPip = (...args: string[]) =>
    runCommand(python.command, ["-m", "pip", ...args], {
      // The user's pip settings may conflict with --target.
      env: { PIP_USER: "0", PIP_DISABLE_PIP_VERSION_CHECK: "1", PIP_NO_INPUT: "1" },
      onLine: (line) => {
        if (line.startsWith("Collecting ")) onCollected?.();
      },
    });
  if ((await runPip("--version")).code !== 0)
    throw new ToolMissingError(`python3 has no pip to download ${name}: install pip (Debian: python3-pip)`);
  const target = ["--target", folder, "--only-binary", ":all:", "--no-warn-conflicts"];
  const { code, stdout, stderr } = await runPip("install", ...target, ...requirements);
  if (code === 0) return;
  const message = /^ERROR: .*/m.exec(stderr)?.[0] ?? getLastLines(stdout + stderr, 10);
  throw new Error(
    `pip could not download ${name}: ${message}\n` +
      "This needs network access, or a mirror in pip's settings, and a Python for which the package is built",
  );
}
