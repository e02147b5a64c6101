import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";

import { getLastLines, runCommand, buildClassPath, kafkaVersion, findJava } from "@topicsync/embedded";
import { eventRulerVersion } from "../picker/event-ruler.ts";
import type { Contestant } from "../support/contestant.ts";
import { installJars } from "../support/maven.ts";
import { reportProgress } from "../support/report.ts";
import type { BenchStack } from "../support/stack.ts";
import type { Job } from "./contestants.ts";
import { createRuleLines } from "./events.ts";

const project = join(import.meta.dirname, "kafka-streams");
const program = "KafkaStreamsRouter";

/**
 * Installs Kafka Streams, of the broker's version, and Event Ruler with Maven, and compiles the program that
 * uses them. bench/README.md lists its settings.
 */
export async function installKafkaStreams({
  toolsFolder,
  folder,
}: BenchStack): Promise<(job: Job) => Contestant> {
  const java = await findJava();
  const jars = await installJars(
    {
      name: `Kafka Streams ${kafkaVersion} Event Ruler ${eventRulerVersion}`,
      project,
      properties: { "kafka.version": kafkaVersion, "event-ruler.version": eventRulerVersion },
    },
    { toolsFolder, report: reportProgress },
  );
  const classPath = await buildClassPath(jars);
  const classes = join(folder, "classes");
  // Beforehand: compiling would count as memory of the program.
  const { code, stderr } = await runCommand(java.command, [
    ...["-m", "jdk.compiler/com.sun.tools.javac.Main", "-cp", classPath, "-d", classes],
    join(project, `${program}.java`),
  ]);
  if (code !== 0) throw new Error(`${program} cannot be compiled:\n${getLastLines(stderr, 10)}`);

  return (job) => ({
    name: "Kafka Streams",
    async command({ brokers, folder: own }) {
      const toPath = (name: string): string => join(own, `${job.groupId}.${name}`);
      await mkdir(own, { recursive: true });
      await writeFile(toPath("rules"), Readable.from(createRuleLines(job.topics)));
      await writeFile(toPath("properties"), formatProperties(brokers, job, toPath("state")));
      return {
        command: java.command,
        args: [
          `-Xmx${getHeapMb(job.topics)}m`,
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
          ...["-cp", `${classes}:${classPath}`, program],
          ...[toPath("properties"), toPath("rules"), job.events, job.egress],
        ],
        logFile: toPath("log"),
      };
    },
  });
}

/**
 * Event Ruler needs about 8 kB for each topic. With twice as much, garbage collection does not limit the
 * rate.
 */
const getHeapMb = (topics: number): number => 512 + Math.ceil((topics * 16) / 1_000);

const formatProperties = (brokers: string, { groupId, partitions }: Job, state: string): string =>
  Object.entries({
    "bootstrap.servers": brokers,
    "application.id": groupId,
    "processing.guarantee": "exactly_once_v2",
    "num.stream.threads": String(partitions),
    "state.dir": state,
    "consumer.auto.offset.reset": "earliest",
    // The defaults are 1,000 records and 16 kB.
    "consumer.max.poll.records": "4000",
    "producer.batch.size": String(256 * 1024),
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
