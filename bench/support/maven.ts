import { join } from "node:path";

import { lastLines, runCommand } from "../../src/embedded/command.ts";
import { installOnce } from "../../src/embedded/install.ts";
import type { LaunchOptions } from "../../src/embedded/stack.ts";
import { versions } from "../../src/embedded/versions.ts";

export interface Jars {
  /** What they are, for people: `mongo-java-server 1.47.0`. */
  readonly name: string;
  /** The folder of the pom.xml that names them. */
  readonly project: string;
  /** What the pom.xml leaves open. */
  readonly properties: Readonly<Record<string, string>>;
}

/** The folder with the jars, downloaded by Maven when it is not there yet. Throws with Maven's own words. */
export async function installJars(
  { name, project, properties }: Jars,
  { toolsFolder, report }: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<string> {
  const jars = join(toolsFolder, name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-"));
  await installOnce(jars, async (folder) => {
    report(`downloading ${name} with Maven`);
    const goal = `org.apache.maven.plugins:maven-dependency-plugin:${versions.mavenDependencyPlugin}:copy-dependencies`;
    const definitions = Object.entries(properties).map(([key, value]) => `-D${key}=${value}`);
    const { code, stdout } = await runCommand("mvn", [
      ...["--batch-mode", "--file", join(project, "pom.xml"), goal],
      ...["-DincludeScope=runtime", `-DoutputDirectory=${folder}`, ...definitions],
    ]);
    if (code !== 0) throw new Error(`Maven could not download ${name}:\n${lastLines(stdout, 10)}`);
  });
  return jars;
}
