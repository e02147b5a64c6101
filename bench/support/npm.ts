import { copyFile } from "node:fs/promises";
import { join } from "node:path";

import { lastLines, runCommand } from "../../src/embedded/command.ts";
import { installOnce } from "../../src/embedded/install.ts";
import type { LaunchOptions } from "../../src/embedded/stack.ts";

export interface Packages {
  /** What they are, for people: `Parse Server 9.10.0`. */
  readonly name: string;
  /** The folder of the package.json that names them. */
  readonly project: string;
}

/**
 * The folder with the packages' `node_modules`, downloaded by npm when it is not there yet. Throws with npm's
 * own words.
 */
export async function installPackages(
  { name, project }: Packages,
  { toolsFolder, report }: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<string> {
  const installed = join(toolsFolder, name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-"));
  await installOnce(installed, async (folder) => {
    report(`downloading ${name} with npm`);
    await copyFile(join(project, "package.json"), join(folder, "package.json"));
    const quiet = ["--no-audit", "--no-fund", "--no-package-lock"];
    const { code, stderr } = await runCommand("npm", [
      ...["install", "--prefix", folder, "--omit=dev", "--ignore-scripts", ...quiet],
    ]);
    if (code !== 0) throw new Error(`npm could not install ${name}:\n${lastLines(stderr, 10)}`);
  });
  return installed;
}
