import { randomUUID } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import {
  buildJavaArgs,
  prepareClassArchive,
  prepareKafkaJava,
  runClass,
  type KafkaJava,
  kafkaReadyLine,
  loggingProperties,
  startProcess,
  waitUntilReady,
  type ServerProcess,
} from "@topicsync/embedded";
import { toolsFolder } from "./local.ts";

/** The id of every cluster that tests start. */
const clusterId = "AAAAAAAAAAAAAAAAAAAAAA";

interface Node {
  readonly java: KafkaJava;
  /** The path of its server.properties. */
  readonly file: string;
  readonly settings: string;
  /** Options of Java itself. */
  readonly flags: readonly string[];
}

export interface JavaOptions {
  /** Options of Java itself. */
  readonly flags?: readonly string[];
  /** A class, or a source file. */
  readonly main?: string;
}

/** Starts a Kafka process with these server.properties, and waits until it is ready. The caller stops it. */
export async function startKafkaNode(
  folder: string,
  settings: readonly string[],
  { flags: javaFlags = [], main = "kafka.Kafka" }: JavaOptions = {},
): Promise<ServerProcess> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "server.properties");
  const logging = join(folder, "log4j2.properties");
  const formatted = join(folder, "formatted");
  writeFileSync(file, settings.join("\n"));
  writeFileSync(logging, loggingProperties);
  const java = await prepareKafkaJava({ toolsFolder, report: () => undefined });
  const flags = [`-Dlog4j2.configurationFile=${logging}`, ...javaFlags];
  if (!existsSync(formatted)) {
    await formatStorage({ java, file, settings: settings.join("\n"), flags });
    writeFileSync(formatted, "");
  }
  const archive = prepareClassArchive(java);
  const server = await startProcess({
    command: java.command,
    args: [...buildJavaArgs(java, main, ["-Xmx512m", ...archive.flags, ...flags]), file],
    logFile: join(folder, "kafka.log"),
  });
  void server.ended.then(() => archive.keep());
  await waitUntilReady(server, async () => (await server.readLastOutput()).includes(kafkaReadyLine), {
    name: `the broker of ${folder}`,
  });
  return server;
}

/**
 * Formats the folders of a node. Kafka's tool takes a second of computing, so it formats the first node only,
 * and its checkpoint, which has the features of a new cluster and nothing of the node, is kept for all
 * others.
 */
async function formatStorage({ java, file, settings, flags }: Node): Promise<void> {
  const metadata = readSetting(settings, "metadata.log.dir");
  const folders = [metadata, readSetting(settings, "log.dirs")];
  const kept = join(dirname(java.archive), "bootstrap.checkpoint");
  if (!existsSync(kept)) {
    const args = ["format", "--cluster-id", clusterId, "--config", file];
    await runClass(java, { mainClass: "kafka.tools.StorageTool", args, flags });
    const copy = `${kept}.${randomUUID()}`;
    copyFileSync(join(metadata, "bootstrap.checkpoint"), copy);
    renameSync(copy, kept);
    return;
  }
  const properties = ["version=1", `cluster.id=${clusterId}`, `node.id=${readSetting(settings, "node.id")}`];
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "meta.properties"), properties.join("\n"));
    copyFileSync(kept, join(folder, "bootstrap.checkpoint"));
  }
}

/** Of several values of a key, the last one is used. */
function readSetting(settings: string, name: string): string {
  const value = settings.split("\n").findLast((line) => line.startsWith(`${name}=`));
  if (value === undefined) throw new Error(`the settings have no ${name}`);
  return value.slice(name.length + 1);
}
