import { existsSync } from "node:fs";
import { join } from "node:path";

import { installOnce } from "./install.ts";
import { pipInstall } from "./pip.ts";
import type { LaunchOptions } from "./stack.ts";
import type { Python } from "./toolchain.ts";
import { versions } from "./versions.ts";

/** How many packages pip collects: SecantusDB and what it needs. Only scales the progress. */
const expectedPackages = 9;

/**
 * The folder with SecantusDB and what it needs, for this Python, downloaded by pip when it is not there yet. Throws
 * ToolMissingError without pip, and an Error with pip's own words when pip fails.
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
    await pipInstall({
      python,
      folder: temporary,
      what: `SecantusDB ${versions.secantusdb}`,
      requirements: [`secantusdb==${versions.secantusdb}`],
      collected: () => {
        report(step, Math.min(0.99, ++packages / (expectedPackages + 1)));
      },
    });
  });
  report(step, 1);
  return folder;
}
