import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { getErrorMessage } from "../lib/errors.ts";
import { classArchive, javaArgs, kafkaJava, runClass, type KafkaJava } from "./kafka-java.ts";
import { kafkaReadyLine, loggingProperties, serverProperties } from "./kafka-settings.ts";
import { freePort, localhost, withFreePort } from "./tcp-port.ts";
import { startProcess, waitUntilReady, type ServerProcess } from "./process.ts";
import type { Launcher, RunningBroker } from "./stack.ts";
import { findJava, whyMissing } from "./toolchain.ts";
import { versions } from "./versions.ts";

const name = `Apache Kafka ${versions.kafka}`;

/** A Kafka broker, which is its own controller, as a Java process; Maven downloads it. */
export const kafkaProcess: Launcher<RunningBroker> = {
  name: `${name} process`,
  findMissing: () => whyMissing(findJava),
  start: async (options) => {
    const java = await kafkaJava(options);
    const files = await prepareFiles(options.dataFolder);
    options.report(`starting ${name}`);
    return withFreePort(options.port, (port) => startBroker(java, files, port));
  },
};

/** The files of one broker. */
interface Files {
  readonly logs: string;
  readonly metadata: string;
  readonly settings: string;
  readonly logging: string;
  readonly output: string;
}

async function prepareFiles(dataFolder: string): Promise<Files> {
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

const logTo = (files: Files): string => `-Dlog4j2.configurationFile=${files.logging}`;

async function startBroker(java: KafkaJava, files: Files, port: number): Promise<RunningBroker> {
  const settings = { ...files, port, controllerPort: await freePort() };
  await writeFile(files.settings, serverProperties(settings));
  await format(java, files);

  const { server, ended } = await launch(java, files);
  const address = `${localhost}:${port}`;
  return {
    description: `${name} (process)`,
    address,
    pid: server.pid,
    ended,
    stop: async () => {
      await server.stop();
      await ended;
    },
    runTool: (tool, args, input) => runTool(java, tool, ["--bootstrap-server", address, ...args], input),
  };
}

async function launch(
  java: KafkaJava,
  files: Files,
): Promise<{ server: ServerProcess; ended: Promise<string> }> {
  const archive = classArchive(java);
  const flags = ["-Xmx512m", "-XX:+ExitOnOutOfMemoryError", ...archive.flags, logTo(files)];
  const server = await startProcess({
    command: java.command,
    args: [...javaArgs(java, "kafka.Kafka", flags), files.settings],
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

/** Prepares the folders that are not prepared yet: an earlier try may have been cut off between the two. */
async function format(java: KafkaJava, files: Files): Promise<void> {
  const marks = [files.logs, files.metadata].map((folder) => join(folder, "meta.properties"));
  const formatted = marks.filter((mark) => existsSync(mark));
  if (formatted.length === marks.length) return;
  const known = formatted[0] === undefined ? "" : await readFile(formatted[0], "utf8");
  const clusterId = /^cluster\.id=(\S+)$/m.exec(known)?.[1] ?? newClusterId();
  await runClass(java, {
    mainClass: "kafka.tools.StorageTool",
    args: ["format", "--ignore-formatted", "--cluster-id", clusterId, "--config", files.settings],
    flags: [logTo(files)],
  });
}

function newClusterId(): string {
  const bytes = randomBytes(16);
  // Otherwise one of 64 would begin with a hyphen, and be taken for an option.
  bytes[0] = 0;
  return bytes.toString("base64url");
}

const toolClasses = {
  "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
  "kafka-topics": "org.apache.kafka.tools.TopicCommand",
} as const;

async function runTool(
  java: KafkaJava,
  tool: keyof typeof toolClasses,
  args: readonly string[],
  input: Uint8Array,
): Promise<string> {
  try {
    return await runClass(java, { mainClass: toolClasses[tool], args, input });
  } catch (error) {
    throw new Error(`${tool} failed: ${getErrorMessage(error)}`, { cause: error });
  }
}
