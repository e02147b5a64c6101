import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import {
  buildClassPath,
  kafkaVersion,
  log4jVersion,
  findFreePort,
  localhost,
  type ServerCommand,
  findJava,
} from "@topicsync/embedded";
import { collections } from "../../src/storage/names.ts";
import type { Contestant } from "../support/contestant.ts";
import { installJars } from "../support/maven.ts";
import { reportProgress } from "../support/report.ts";
import type { Workspace } from "../support/stack.ts";

const sinkVersion = "2.0.1";

/**
 * The alternative to topicsync: a standalone worker of Kafka Connect with MongoDB's sink, which upserts by
 * external id. It has no validation, no rejections and no order within a batch. bench/README.md lists its
 * settings.
 */
export const kafkaConnect: Contestant = {
  name: "Kafka Connect",

  async command(workspace): Promise<ServerCommand> {
    const java = await findJava();
    const jars = await installJars(
      {
        name: `Kafka Connect ${kafkaVersion} MongoDB sink ${sinkVersion}`,
        project: join(import.meta.dirname, "kafka-connect"),
        properties: {
          "kafka.version": kafkaVersion,
          "log4j.version": log4jVersion,
          "sink.version": sinkVersion,
        },
      },
      { toolsFolder: workspace.toolsFolder, report: reportProgress },
    );
    const toPath = (name: string): string => join(workspace.folder, name);
    await mkdir(workspace.folder, { recursive: true });
    await writeFile(
      toPath("worker.properties"),
      formatProperties(createWorkerProperties(workspace, await findFreePort(), toPath("offsets"))),
    );
    await writeFile(toPath("sink.properties"), formatProperties(createSinkProperties(workspace)));
    await writeFile(toPath("log4j2.properties"), formatProperties(logging));
    return {
      command: java.command,
      args: [
        "-Xmx2g",
        `-Dlog4j2.configurationFile=${toPath("log4j2.properties")}`,
        "-cp",
        await buildClassPath(jars),
        "org.apache.kafka.connect.cli.ConnectStandalone",
        toPath("worker.properties"),
        toPath("sink.properties"),
      ],
      logFile: toPath("kafka-connect.log"),
    };
  },
};

type Properties = Readonly<Record<string, string>>;

const createWorkerProperties = ({ brokers }: Workspace, port: number, offsets: string): Properties => ({
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

/** The members' names in the collection, which its unique indexes use. */
const renames = [
  "externalId:topic_id",
  "name:topic_name",
  "headerQuery:header_query",
  "contentQuery:content_query",
];

const createSinkProperties = ({ uri, database, topic }: Workspace): Properties => ({
  name: database,
  "connector.class": "com.mongodb.kafka.connect.MongoSinkConnector",
  "tasks.max": "1",
  topics: topic,
  "connection.uri": uri,
  database,
  collection: collections.topics,
  "writemodel.strategy": `${strategies}.ReplaceOneBusinessKeyStrategy`,
  "document.id.strategy": `${processors}.id.strategy.PartialValueStrategy`,
  "document.id.strategy.partial.value.projection.type": "AllowList",
  "document.id.strategy.partial.value.projection.list": "topic_id",
  // A transformation, because the sink's own RenameByMapping parses every key as JSON.
  transforms: "rename",
  "transforms.rename.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
  "transforms.rename.renames": renames.join(","),
  "bulk.write.ordered": "false",
  // The default is 500.
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

const formatProperties = (entries: Properties): string =>
  Object.entries(entries)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
