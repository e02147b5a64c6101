import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";

import { getLastLines, runCommand, installOnce, type LaunchOptions } from "@topicsync/embedded";

export interface Packages {
  /** For messages and the folder's name: `Parse Server 9.10.0`. */
  readonly name: string;
  /** The folder of their package.json, and of a package-lock.json if their dependencies are pinned. */
  readonly project: string;
}

/**
 * Installs the packages with npm unless they are installed, and returns their folder. Throws npm's output.
 */
export async function installPackages(
  { name, project }: Packages,
  { toolsFolder, report }: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<string> {
  const lock = join(project, "package-lock.json");
  const isLocked = existsSync(lock);
  const version = isLocked
    ? `-${createHash("sha256").update(readFileSync(lock)).digest("hex").slice(0, 8)}`
    : "";
  const installed = join(toolsFolder, `${name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-")}${version}`);
  await installOnce(installed, async (folder) => {
    report(`downloading ${name} with npm`);
    await copyFile(join(project, "package.json"), join(folder, "package.json"));
    if (isLocked) await copyFile(lock, join(folder, "package-lock.json"));
    const { code, stderr } = await runCommand("npm", [
      ...(isLocked ? ["ci"] : ["install", "--no-package-lock"]),
      "--prefix",
      folder,
      "--omit=dev",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
    ]);
    if (code !== 0) throw new Error(`npm failed to install ${name}:\n${getLastLines(stderr, 10)}`);
  });
  return installed;
}
