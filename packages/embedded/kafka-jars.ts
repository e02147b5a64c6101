import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isCommandMissing, getLastLines, runCommand, type CommandResult } from "./command.ts";
import { downloadOnce } from "./install.ts";
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

// The command line tools, which tests use, are a separate artifact, whose dependencies are excluded: the
// broker brings those that are needed, and the others are all of Kafka Connect. Kafka logs through SLF4J, so
// the binding to log4j is added.
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

/** The output of `sha256sum *.jar` in the folder of the jars. */
const digests = new URL("kafka.sha256", import.meta.url);
const verified = new Set<string>();

/**
 * Returns the folder with Kafka's jars, downloaded with Maven unless it exists, after it has compared their
 * digests. Throws ToolMissingError without Maven, and an Error with Maven's message if Maven fails, or with
 * the names of the jars that are not the expected ones.
 */
export async function installKafka({
  toolsFolder,
  report,
}: Pick<LaunchOptions, "toolsFolder" | "report">): Promise<string> {
  const folder = join(toolsFolder, `kafka-${kafkaVersion}`);
  const step = `downloading Apache Kafka ${kafkaVersion} with Maven`;
  await downloadOnce(folder, { step, parts: expectedDownloads, report }, async (temporary, onJar) => {
    await downloadJars(temporary, onJar);
    await verifyJars(temporary);
  });
  if (!verified.has(folder)) await verifyJars(folder);
  verified.add(folder);
  return folder;
}

const listJars = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith(".jar"));

/** Throws an Error unless the jars are those of the list. */
async function verifyJars(folder: string): Promise<void> {
  const lines = (await readFile(digests, "utf8")).trim().split("\n");
  const expected = new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
  const jars = await listJars(folder);
  const wrong = [...expected.keys()].filter((name) => !jars.includes(name));
  for (const name of jars) {
    const digest = createHash("sha256")
      .update(await readFile(join(folder, name)))
      .digest("hex");
    if (digest !== expected.get(name)) wrong.push(name);
  }
  if (wrong.length === 0) return;
  throw new Error(
    `${wrong.join(", ")} of Apache Kafka ${kafkaVersion} differ from those of Maven Central: ` +
      `remove them from Maven's local repository, check the mirror in Maven's settings.xml, and delete ${folder}`,
  );
}

/** Returns the class path of a folder's jars, sorted because an archive of classes depends on the order. */
export async function buildClassPath(folder: string): Promise<string> {
  const jars = await listJars(folder);
  return jars
    .toSorted()
    .map((name) => join(folder, name))
    .join(":");
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
