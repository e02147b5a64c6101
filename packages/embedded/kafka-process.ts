import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import {
  prepareClassArchive,
  buildJavaArgs,
  prepareKafkaJava,
  runClass,
  type KafkaJava,
} from "./kafka-java.ts";
import { kafkaVersion } from "./kafka-jars.ts";
import { kafkaReadyLine, loggingProperties, formatServerProperties } from "./kafka-settings.ts";
import { findFreePort, localhost, withFreePort } from "./tcp-port.ts";
import { startProcess, waitUntilReady, type ServerProcess } from "./process.ts";
import type { Launcher, Running } from "./stack.ts";
import { findJava, explainMissing } from "./toolchain.ts";

const name = `Apache Kafka ${kafkaVersion}`;

/** Runs a Kafka broker and controller as a Java process; Maven downloads it. */
export const kafkaProcess: Launcher = {
  name: `${name} process`,
  findMissing: () => explainMissing(findJava),
  start: async (options) => {
    const java = await prepareKafkaJava(options);
    const files = await prepareFiles(options.dataFolder);
    options.report(`starting ${name}`);
    return withFreePort(options.port, (port) => startBroker(java, files, port));
  },
};

type Files = Awaited<ReturnType<typeof prepareFiles>>;

async function prepareFiles(dataFolder: string) {
  const folder = join(dataFolder, "kafka");
  const files = {
    logs: join(folder, "logs"),
    metadata: join(folder, "metadata"),
    settings: join(folder, "server.properties"),
    logging: join(folder, "log4j2.properties"),
    output: join(folder, "kafka.log"),
  };
  await mkdir(folder, { recursive: true });
  await writeFile(files.logging, loggingProperties);
  return files;
}

const toLoggingFlag = (files: Files): string => `-Dlog4j2.configurationFile=${files.logging}`;

async function startBroker(java: KafkaJava, files: Files, port: number): Promise<Running> {
  const settings = { ...files, port, controllerPort: await findFreePort() };
  await writeFile(files.settings, formatServerProperties(settings));
  await formatStorage(java, files);

  const { server, ended } = await launch(java, files);
  return {
    description: `${name} (process)`,
    address: `${localhost}:${port}`,
    pid: server.pid,
    ended,
    stop: async () => {
      await server.stop();
      await ended;
    },
  };
}

async function launch(
  java: KafkaJava,
  files: Files,
): Promise<{ server: ServerProcess; ended: Promise<string> }> {
  const archive = prepareClassArchive(java);
  const flags = ["-Xmx512m", "-XX:+ExitOnOutOfMemoryError", ...archive.flags, toLoggingFlag(files)];
  const server = await startProcess({
    command: java.command,
    args: [...buildJavaArgs(java, "kafka.Kafka", flags), files.settings],
    logFile: files.output,
  });
  try {
    await waitUntilReady(server, async () => (await server.readLastOutput()).includes(kafkaReadyLine), {
      name,
    });
  } catch (error) {
    await archive.discard();
    throw error;
  }
  const ended = server.ended.then(async (how) => {
    await archive.keep();
    return how;
  });
  return { server, ended };
}

/**
 * Formats the folders that are not formatted yet; an earlier run may have been interrupted between the two.
 */
async function formatStorage(java: KafkaJava, files: Files): Promise<void> {
  const markers = [files.logs, files.metadata].map((folder) => join(folder, "meta.properties"));
  const formatted = markers.filter((marker) => existsSync(marker));
  if (formatted.length === markers.length) return;
  const known = formatted[0] === undefined ? "" : await readFile(formatted[0], "utf8");
  const clusterId = /^cluster\.id=(\S+)$/m.exec(known)?.[1] ?? createClusterId();
  await runClass(java, {
    mainClass: "kafka.tools.StorageTool",
    args: ["format", "--ignore-formatted", "--cluster-id", clusterId, "--config", files.settings],
    flags: [toLoggingFlag(files)],
  });
}

function createClusterId(): string {
  const bytes = randomBytes(16);
  // Otherwise one in 64 would begin with a hyphen and be parsed as an option.
  bytes[0] = 0;
  return bytes.toString("base64url");
}
