import { copyFile } from "node:fs/promises";
import { join } from "node:path";

import { getLastLines, runCommand } from "../../src/embedded/command.ts";
import { installOnce } from "../../src/embedded/install.ts";
import type { LaunchOptions } from "../../src/embedded/stack.ts";

export interface Packages {
  /** For messages and the folder's name: `Parse Server 9.10.0`. */
  readonly name: string;
  /** The folder of their package.json. */
  readonly project: string;
}

/**
 * Installs the packages with npm unless they are installed, and returns their folder. Throws npm's output.
 */
export async function installPackages(
  { name, project }: Packages,
  { toolsFolder, report }: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<string> {
  const installed = join(toolsFolder, name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-"));
  await installOnce(installed, async (folder) => {
    report(`downloading ${name} with npm`);
    await copyFile(join(project, "package.json"), join(folder, "package.json"));
    const { code, stderr } = await runCommand("npm", [
      "install",
      "--prefix",
      folder,
      "--omit=dev",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--no-package-lock",
    ]);
    if (code !== 0) throw new Error(`npm failed to install ${name}:\n${getLastLines(stderr, 10)}`);
  });
  return installed;
}
