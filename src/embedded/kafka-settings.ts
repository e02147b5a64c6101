import { localhost } from "./tcp-port.ts";

export interface KafkaSettings {
  /** The records of the topics. */
  readonly logs: string;
  /** The controller's own log. */
  readonly metadata: string;
  readonly port: number;
  readonly controllerPort: number;
}

/** The server.properties of a broker that is its own controller and has no peers. */
export function serverProperties({ logs, metadata, port, controllerPort }: KafkaSettings): string {
  const broker = `PLAINTEXT://${localhost}:${port}`;
  return properties({
    "process.roles": "broker,controller",
    "node.id": "1",
    // Voters that are named here, instead of in the data, may change their port between two starts.
    "controller.quorum.voters": `1@${localhost}:${controllerPort}`,
    "controller.listener.names": "CONTROLLER",
    listeners: `${broker},CONTROLLER://${localhost}:${controllerPort}`,
    "advertised.listeners": broker,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": logs,
    // In a folder of its own: only then does a second broker on the same data notice in time, before it has changed them.
    "metadata.log.dir": metadata,
    // One broker can hold one copy, and has nobody to share partitions with.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    // A misspelt topic is an error, not a new topic with the wrong settings.
    "auto.create.topics.enable": "false",
    // Nobody else is about to join the group.
    "group.initial.rebalance.delay.ms": "0",
    // After a kill, the controller takes the broker's new life for a second broker of the same id until the old one's
    // session ends: 9 s by default, and so long the start would take.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    // Of a small heap, compaction's buffer would take a quarter.
    "log.cleaner.dedupe.buffer.size": String(16 * 1024 * 1024),
  });
}

/** The line that the settings below let through when the broker is up and its controller knows it. */
export const kafkaReadyLine = "Kafka Server started";

/** Only what went wrong, and the line that says that the broker is up. */
export const loggingProperties = properties({
  status: "error",
  "appender.console.type": "Console",
  "appender.console.name": "console",
  "appender.console.layout.type": "PatternLayout",
  "appender.console.layout.pattern": "%d %p %c{1}: %m%n",
  "rootLogger.level": "warn",
  "rootLogger.appenderRef.console.ref": "console",
  "logger.started.name": "kafka.server.KafkaRaftServer",
  "logger.started.level": "info",
  // Warns of each start that it starts.
  "logger.controller.name": "org.apache.kafka.controller.QuorumController",
  "logger.controller.level": "error",
});

function properties(entries: Record<string, string>): string {
  // A backslash is an escape in this format.
  const lines = Object.entries(entries).map(([key, value]) => `${key}=${value.replaceAll("\\", "\\\\")}\n`);
  return lines.join("");
}
