import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isAbsent, lastLines, runCommand, type Finished } from "./command.ts";
import { installOnce } from "./install.ts";
import type { LaunchOptions } from "./stack.ts";
import { ToolMissingError } from "./toolchain.ts";
import { versions } from "./versions.ts";

/** How many jars Maven downloads where it was never used before, its own plugin's among them. Only scales the progress. */
const expectedDownloads = 95;

// The broker does not bring its command line tools, and these would bring all of Kafka Connect: what they use of it
// here is nothing, and the rest comes with the broker. A library leaves the choice of a log to its user, so the bridge from
// SLF4J to log4j is ours to add.
const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>topicsync</groupId>
  <artifactId>kafka</artifactId>
  <version>${versions.kafka}</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>${versions.kafka}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-tools</artifactId>
      <version>${versions.kafka}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>${versions.log4j}</version>
    </dependency>
  </dependencies>
</project>
`;

/**
 * The folder with Kafka's jars, downloaded by Maven when it is not there yet. Throws ToolMissingError without Maven, and an
 * Error with Maven's own words when Maven fails.
 */
export async function kafkaJars({
  toolsFolder,
  report,
}: Pick<LaunchOptions, "toolsFolder" | "report">): Promise<string> {
  const folder = join(toolsFolder, `kafka-${versions.kafka}`);
  if (existsSync(folder)) return folder;
  const step = `downloading Apache Kafka ${versions.kafka} with Maven`;
  report(step, 0);
  await installOnce(folder, async (temporary) => {
    let jars = 0;
    await download(temporary, () => {
      report(step, Math.min(0.99, ++jars / expectedDownloads));
    });
  });
  report(step, 1);
  return folder;
}

/** The class path of a folder's jars, in an order that is always the same: an archive of classes depends on it. */
export async function classPath(folder: string): Promise<string> {
  const jars = (await readdir(folder)).filter((name) => name.endsWith(".jar")).toSorted();
  return jars.map((name) => join(folder, name)).join(":");
}

async function download(folder: string, downloaded: () => void): Promise<void> {
  const pom = join(folder, "pom.xml");
  await writeFile(pom, project);
  const goal = `org.apache.maven.plugins:maven-dependency-plugin:${versions.mavenDependencyPlugin}:copy-dependencies`;
  const args = ["--batch-mode", "--file", pom, goal, "-DincludeScope=runtime", `-DoutputDirectory=${folder}`];
  const { code, stdout, stderr } = await maven(args, (line) => {
    if (/Downloaded from .*\.jar /.test(line)) downloaded();
  });
  if (code === 0) return;
  const complaint = /^\[ERROR\] .*/m.exec(stdout)?.[0] ?? lastLines(stdout + stderr, 10);
  throw new Error(
    `Maven could not download Apache Kafka ${versions.kafka}: ${complaint}\n` +
      "It needs the network, or a mirror that Maven's settings.xml names",
  );
}

async function maven(args: readonly string[], onLine: (line: string) => void): Promise<Finished> {
  try {
    return await runCommand("mvn", args, { onLine });
  } catch (error) {
    if (!isAbsent(error)) throw error;
    throw new ToolMissingError(
      `there is no mvn on the PATH to download Apache Kafka ${versions.kafka} with: install Maven`,
    );
  }
}
