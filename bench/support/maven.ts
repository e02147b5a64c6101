import { join } from "node:path";

import {
  getLastLines,
  runCommand,
  installOnce,
  type LaunchOptions,
  mavenDependencyPlugin,
} from "@topicsync/embedded";

export interface Jars {
  /** For messages and the folder's name: `mongo-java-server 1.47.0`. */
  readonly name: string;
  /** The folder of their pom.xml. */
  readonly project: string;
  /** Properties that the pom.xml leaves undefined. */
  readonly properties: Readonly<Record<string, string>>;
}

/**
 * Downloads the jars with Maven unless they are installed, and returns their folder. Throws Maven's output.
 */
export async function installJars(
  { name, project, properties }: Jars,
  { toolsFolder, report }: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<string> {
  const jars = join(toolsFolder, name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-"));
  await installOnce(jars, async (folder) => {
    report(`downloading ${name} with Maven`);
    const goal = `${mavenDependencyPlugin}:copy-dependencies`;
    const definitions = Object.entries(properties).map(([key, value]) => `-D${key}=${value}`);
    const { code, stdout } = await runCommand("mvn", [
      "--batch-mode",
      "--file",
      join(project, "pom.xml"),
      goal,
      "-DincludeScope=runtime",
      `-DoutputDirectory=${folder}`,
      ...definitions,
    ]);
    if (code !== 0) throw new Error(`Maven failed to download ${name}:\n${getLastLines(stdout, 10)}`);
  });
  return jars;
}
