import { join } from "node:path";

import { lastLines, runCommand } from "../src/stack/command.ts";
import { installOnce } from "../src/stack/install.ts";
import { freePort } from "../src/stack/ports.ts";
import { startProcess, untilReady } from "../src/stack/process.ts";
import type { LaunchOptions, Running } from "../src/stack/stack.ts";
import { ping } from "../src/stack/store-process.ts";
import { findJava } from "../src/stack/toolchain.ts";
import { versions } from "../src/stack/versions.ts";

const version = "1.47.0";
const sources = join(import.meta.dirname, "memory-store");

/**
 * mongo-java-server: MongoDB's protocol in memory, so fast that the store is not the bottleneck of a benchmark. It has no
 * transactions, so it says nothing of correctness.
 */
export async function startMemoryStore(options: Omit<LaunchOptions, "port">): Promise<Running> {
  const { dataFolder, toolsFolder, report } = options;
  const java = await findJava();
  const jars = join(toolsFolder, `mongo-java-server-${version}`);
  await installOnce(jars, async (folder) => {
    report(`downloading mongo-java-server ${version} with Maven`);
    await copyJars(folder);
  });
  const port = await freePort();
  const address = `mongodb://127.0.0.1:${port}/?directConnection=true`;
  const server = await startProcess({
    command: java.command,
    args: ["-Xmx2g", "-cp", join(jars, "*"), join(sources, "MemoryStore.java"), String(port)],
    logFile: join(dataFolder, "memory-store.log"),
  });
  const name = `mongo-java-server ${version}`;
  await untilReady(server, () => ping(address), { name });
  const { pid, ended } = server;
  return { description: `${name} (in memory)`, address, pid, ended, stop: () => server.stop() };
}

async function copyJars(folder: string): Promise<void> {
  const goal = `org.apache.maven.plugins:maven-dependency-plugin:${versions.mavenDependencyPlugin}:copy-dependencies`;
  const args = ["--batch-mode", "--file", join(sources, "pom.xml"), goal, `-DoutputDirectory=${folder}`];
  const { code, stdout } = await runCommand("mvn", args);
  if (code !== 0) throw new Error(`Maven could not download mongo-java-server:\n${lastLines(stdout, 10)}`);
}
