import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import {
  buildJavaArgs,
  prepareClassArchive,
  prepareKafkaJava,
  runClass,
} from "../../src/embedded/kafka-java.ts";
import { kafkaReadyLine, loggingProperties } from "../../src/embedded/kafka-settings.ts";
import { startProcess, waitUntilReady, type ServerProcess } from "../../src/embedded/process.ts";
import { toolsFolder } from "../unit/embedded/local.ts";

/** The id of every cluster that tests start. */
const clusterId = "AAAAAAAAAAAAAAAAAAAAAA";

/** Starts a Kafka process with these server.properties, and waits until it is ready. The caller stops it. */
export async function startKafkaNode(folder: string, settings: readonly string[]): Promise<ServerProcess> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "server.properties");
  const logging = join(folder, "log4j2.properties");
  const formatted = join(folder, "formatted");
  writeFileSync(file, settings.join("\n"));
  writeFileSync(logging, loggingProperties);
  const java = await prepareKafkaJava({ toolsFolder, report: () => undefined });
  const flags = [`-Dlog4j2.configurationFile=${logging}`];
  if (!existsSync(formatted)) {
    const args = ["format", "--cluster-id", clusterId, "--config", file];
    await runClass(java, { mainClass: "kafka.tools.StorageTool", args, flags });
    writeFileSync(formatted, "");
  }
  const archive = prepareClassArchive(java);
  const server = await startProcess({
    command: java.command,
    args: [...buildJavaArgs(java, "kafka.Kafka", ["-Xmx512m", ...archive.flags, ...flags]), file],
    logFile: join(folder, "kafka.log"),
  });
  void server.ended.then(() => archive.keep());
  await waitUntilReady(server, async () => (await server.readLastOutput()).includes(kafkaReadyLine), {
    name: `the broker of ${folder}`,
  });
  return server;
}
