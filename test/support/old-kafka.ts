import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import {
  buildClassPath,
  buildJavaArgs,
  prepareClassArchive,
  runClass,
  type KafkaJava,
  formatServerProperties,
  kafkaReadyLine,
  startProcess,
  waitUntilReady,
  findFreePort,
  localhost,
  findJava,
} from "@topicsync/embedded";
import { installJars } from "../../bench/support/maven.ts";
import { toolsFolder } from "./local.ts";

/** The first version that fetches by topic id is 3.1; this is its last release. */
export const oldestKafka = "3.1.2";

/** Kafka 3 logs with Log4j 1. */
const logging = `log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c: %m%n
log4j.logger.kafka.server.KafkaRaftServer=INFO
`;

/** Starts the oldest supported Kafka, stopped after the tests of this file. Returns its address. */
export async function startOldKafka(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "topicsync-old-kafka-"));
  const java = await prepareJava();
  const port = await findFreePort();
  const settings = join(folder, "server.properties");
  const loggingFile = join(folder, "log4j.properties");
  writeFileSync(loggingFile, logging);
  const [logs, metadata] = [join(folder, "logs"), join(folder, "metadata")];
  writeFileSync(
    settings,
    formatServerProperties({ logs, metadata, port, controllerPort: await findFreePort() }),
  );
  const loggingFlag = `-Dlog4j.configuration=file:${loggingFile}`;
  await runClass(java, {
    mainClass: "kafka.tools.StorageTool",
    args: ["format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", settings],
    flags: [loggingFlag],
  });
  const archive = prepareClassArchive(java);
  const server = await startProcess({
    command: java.command,
    args: [...buildJavaArgs(java, "kafka.Kafka", ["-Xmx512m", ...archive.flags, loggingFlag]), settings],
    logFile: join(folder, "kafka.log"),
  });
  const ended = server.ended.then(() => archive.keep());
  after(async () => {
    await server.stop();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  await waitUntilReady(server, async () => (await server.readLastOutput()).includes(kafkaReadyLine), {
    name: `Kafka ${oldestKafka}`,
  });
  return `${localhost}:${port}`;
}

async function prepareJava(): Promise<KafkaJava> {
  const { command, version } = await findJava();
  const jars = await installJars(
    {
      name: `Kafka ${oldestKafka}`,
      project: join(import.meta.dirname, "../integration/kafka-versions"),
      properties: { "kafka.version": oldestKafka },
    },
    { toolsFolder, report: () => undefined },
  );
  return { command, classPath: await buildClassPath(jars), archive: join(jars, `classes-${version}.jsa`) };
}
