import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isCommandMissing, getLastLines, runCommand, type CommandResult } from "./command.ts";
import { installOnce } from "./install.ts";
import type { LaunchOptions } from "./stack.ts";
import { ToolMissingError } from "./toolchain.ts";

export const kafkaVersion = "4.3.1";
/** The version of log4j in Kafka's own distribution. */
export const log4jVersion = "2.25.4";
export const mavenDependencyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1";

/**
 * The number of jars that Maven downloads with an empty cache, those of its plugin included. Only scales the
 * progress.
 */
const expectedDownloads = 95;

// The command line tools are a separate artifact, whose dependencies are excluded: the broker brings those
// that are used here, and the others are all of Kafka Connect. Kafka logs through SLF4J, so the binding to
// log4j is added.
const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>topicsync</groupId>
  <artifactId>kafka</artifactId>
  <version>${kafkaVersion}</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>${kafkaVersion}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-tools</artifactId>
      <version>${kafkaVersion}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>${log4jVersion}</version>
    </dependency>
  </dependencies>
</project>
`;

/**
 * Returns the folder with Kafka's jars, downloaded with Maven unless it exists. Throws ToolMissingError
 * without Maven, and an Error with Maven's message if Maven fails.
 */
export async function installKafka({
  toolsFolder,
  report,
}: Pick<LaunchOptions, "toolsFolder" | "report">): Promise<string> {
  const folder = join(toolsFolder, `kafka-${kafkaVersion}`);
  if (existsSync(folder)) return folder;
  const step = `downloading Apache Kafka ${kafkaVersion} with Maven`;
  report(step, 0);
  await installOnce(folder, async (temporary) => {
    let jars = 0;
    await downloadJars(temporary, () => {
      report(step, Math.min(0.99, ++jars / expectedDownloads));
    });
  });
  report(step, 1);
  return folder;
}

/** Returns the class path of a folder's jars, sorted because an archive of classes depends on the order. */
export async function buildClassPath(folder: string): Promise<string> {
  const jars = (await readdir(folder)).filter((name) => name.endsWith(".jar")).toSorted();
  return jars.map((name) => join(folder, name)).join(":");
}

async function downloadJars(folder: string, onDownloaded: () => void): Promise<void> {
  const pom = join(folder, "pom.xml");
  await writeFile(pom, project);
  const goal = `${mavenDependencyPlugin}:copy-dependencies`;
  const args = ["--batch-mode", "--file", pom, goal, "-DincludeScope=runtime", `-DoutputDirectory=${folder}`];
  const { code, stdout, stderr } = await runMaven(args, (line) => {
    if (/Downloaded from .*\.jar /.test(line)) onDownloaded();
  });
  if (code === 0) return;
  const message = /^\[ERROR\] .*/m.exec(stdout)?.[0] ?? getLastLines(stdout + stderr, 10);
  throw new Error(
    `Maven could not download Apache Kafka ${kafkaVersion}: ${message}\n` +
      "This needs network access, or a mirror in Maven's settings.xml",
  );
}

async function runMaven(args: readonly string[], onLine: (line: string) => void): Promise<CommandResult> {
  try {
    return await runCommand("mvn", args, { onLine });
  } catch (error) {
    if (!isCommandMissing(error)) throw error;
    throw new ToolMissingError(
      `there is no mvn on the PATH to download Apache Kafka ${kafkaVersion}: install Maven`,
    );
  }
}
