import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { classPath } from "../../src/embedded/kafka-jars.ts";
import { freePort, localhost } from "../../src/embedded/tcp-port.ts";
import type { ServerCommand } from "../../src/embedded/process.ts";
import { findJava } from "../../src/embedded/toolchain.ts";
import { versions } from "../../src/embedded/versions.ts";
import type { Contestant } from "../support/contestant.ts";
import { installJars } from "../support/maven.ts";
import { progress } from "../support/report.ts";
import type { Arena } from "../support/stack.ts";

const sinkVersion = "2.0.1";

/**
 * What one would use if there were no topicsync: Kafka Connect, one standalone worker, with MongoDB's own
 * sink. It upserts by the external id, unordered. What was tried of its settings stands in
 * docs/benchmarks.md. It has no schema check, no refusals and no order between the records of a batch.
 */
export const kafkaConnect: Contestant = {
  name: "Kafka Connect",

  async command(arena): Promise<ServerCommand> {
    const java = await findJava();
    const jars = await installJars(
      {
        name: `Kafka Connect ${versions.kafka} MongoDB sink ${sinkVersion}`,
        project: join(import.meta.dirname, "kafka-connect"),
        properties: {
          "kafka.version": versions.kafka,
          "log4j.version": versions.log4j,
          "sink.version": sinkVersion,
        },
      },
      { toolsFolder: arena.toolsFolder, report: progress },
    );
    const file = (name: string): string => join(arena.folder, name);
    await mkdir(arena.folder, { recursive: true });
    await writeFile(file("worker.properties"), properties(worker(arena, await freePort(), file("offsets"))));
    await writeFile(file("sink.properties"), properties(sink(arena)));
    await writeFile(file("log4j2.properties"), properties(logging));
    return {
      command: java.command,
      args: [
        ...[
          "-Xmx2g",
          `-Dlog4j2.configurationFile=${file("log4j2.properties")}`,
          "-cp",
          await classPath(jars),
        ],
        "org.apache.kafka.connect.cli.ConnectStandalone",
        ...[file("worker.properties"), file("sink.properties")],
      ],
      logFile: file("kafka-connect.log"),
    };
  },
};

type Properties = Readonly<Record<string, string>>;

const worker = ({ brokers }: Arena, port: number, offsets: string): Properties => ({
  "bootstrap.servers": brokers,
  listeners: `http://${localhost}:${port}`,
  "offset.storage.file.filename": offsets,
  "plugin.discovery": "only_scan",
  "key.converter": "org.apache.kafka.connect.storage.StringConverter",
  "value.converter": "org.apache.kafka.connect.json.JsonConverter",
  "value.converter.schemas.enable": "false",
});

const strategies = "com.mongodb.kafka.connect.sink.writemodel.strategy";
const processors = "com.mongodb.kafka.connect.sink.processor";

/** The fields as the collection names them: its unique indexes are on these. */
const renames = [
  "externalId:topic_id",
  "name:topic_name",
  "headerQuery:header_query",
  "contentQuery:content_query",
];

const sink = ({ uri, database, topic }: Arena): Properties => ({
  name: database,
  "connector.class": "com.mongodb.kafka.connect.MongoSinkConnector",
  "tasks.max": "1",
  topics: topic,
  "connection.uri": uri,
  database,
  collection: "svc_api_notif_mgmt_topic",
  "writemodel.strategy": `${strategies}.ReplaceOneBusinessKeyStrategy`,
  "document.id.strategy": `${processors}.id.strategy.PartialValueStrategy`,
  "document.id.strategy.partial.value.projection.type": "AllowList",
  "document.id.strategy.partial.value.projection.list": "topic_id",
  // A transformation: the sink's own RenameByMapping takes every key for JSON.
  transforms: "rename",
  "transforms.rename.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
  "transforms.rename.renames": renames.join(","),
  "bulk.write.ordered": "false",
  // By default it writes 500 records at a time.
  "consumer.override.max.poll.records": "2000",
  "consumer.override.max.partition.fetch.bytes": String(8 * 1024 * 1024),
});

const logging: Properties = {
  "rootLogger.level": "warn",
  "rootLogger.appenderRef.console.ref": "console",
  "appender.console.type": "Console",
  "appender.console.name": "console",
  "appender.console.layout.type": "PatternLayout",
  "appender.console.layout.pattern": "%d %p %c{1} %m%n",
};

const properties = (entries: Properties): string =>
  Object.entries(entries)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
