import { localhost } from "./tcp-port.ts";

interface KafkaSettings {
  /** The records of the topics. */
  readonly logs: string;
  /** The controller's own log. */
  readonly metadata: string;
  readonly port: number;
  readonly controllerPort: number;
}

/** Returns the server.properties of a single broker that is its own controller. */
export function formatServerProperties({ logs, metadata, port, controllerPort }: KafkaSettings): string {
  const broker = `PLAINTEXT://${localhost}:${port}`;
  return formatProperties({
    "process.roles": "broker,controller",
    "node.id": "1",
    // Voters are configured here and not in the data, so that the port may change between starts.
    "controller.quorum.voters": `1@${localhost}:${controllerPort}`,
    "controller.listener.names": "CONTROLLER",
    listeners: `${broker},CONTROLLER://${localhost}:${controllerPort}`,
    "advertised.listeners": broker,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": logs,
    // A separate folder, so that a second broker on the same data fails before it changes anything.
    "metadata.log.dir": metadata,
    // There is only one broker.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    // A misspelled topic must be an error, not a new topic with default settings.
    "auto.create.topics.enable": "false",
    // No other members will join the group.
    "group.initial.rebalance.delay.ms": "0",
    // After a kill, the controller rejects the restarted broker as a duplicate until the old session expires,
    // by default after 9 s.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    // The controller would write an empty record every 500 ms, a third of what an idle broker computes.
    "metadata.max.idle.interval.ms": "5000",
    // The default buffer for compaction would take a quarter of the small heap.
    "log.cleaner.dedupe.buffer.size": String(16 * 1024 * 1024),
  });
}

/** Logged when the broker is ready and registered with its controller. */
export const kafkaReadyLine = "Kafka Server started";

/** Logs warnings, errors and kafkaReadyLine. */
export const loggingProperties = formatProperties({
  status: "error",
  "appender.console.type": "Console",
  "appender.console.name": "console",
  "appender.console.layout.type": "PatternLayout",
  "appender.console.layout.pattern": "%d %p %c{1}: %m%n",
  "rootLogger.level": "warn",
  "rootLogger.appenderRef.console.ref": "console",
  "logger.started.name": "kafka.server.KafkaRaftServer",
  "logger.started.level": "info",
  // It logs a warning at every start.
  "logger.controller.name": "org.apache.kafka.controller.QuorumController",
  "logger.controller.level": "error",
});

function formatProperties(entries: Record<string, string>): string {
  // The backslash is the escape character of this format.
  const lines = Object.entries(entries).map(([key, value]) => `${key}=${value.replaceAll("\\", "\\\\")}\n`);
  return lines.join("");
}
