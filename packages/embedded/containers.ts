import { removeData } from "./container-data.ts";
import { checkImage } from "./container-engine.ts";
import { runContainer, type ContainerSpec } from "./container-run.ts";
import { ensurePrimary } from "./replica-set.ts";
import type { Launcher } from "./stack.ts";

// Clients use the published port and the address that the broker advertises; the broker itself uses a
// listener that exists only inside the container.
const kafkaPort = 9092;
const innerKafka = "localhost:19092";

/** Runs a Kafka broker and controller in a container. The image must support the settings of apache/kafka. */
export function createKafkaLauncher(image: string): Launcher {
  const spec: ContainerSpec = {
    kind: "kafka",
    image,
    port: kafkaPort,
    dataPath: "/var/lib/kafka/data",
    readyLine: /Kafka Server started/,
    environment: (host, port) => ({
      KAFKA_NODE_ID: "1",
      KAFKA_PROCESS_ROLES: "broker,controller",
      KAFKA_LISTENERS: `OUTER://0.0.0.0:${kafkaPort},INNER://${innerKafka},CONTROLLER://localhost:19093`,
      KAFKA_ADVERTISED_LISTENERS: `OUTER://${host}:${port},INNER://${innerKafka}`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: "OUTER:PLAINTEXT,INNER:PLAINTEXT,CONTROLLER:PLAINTEXT",
      KAFKA_INTER_BROKER_LISTENER_NAME: "INNER",
      KAFKA_CONTROLLER_LISTENER_NAMES: "CONTROLLER",
      KAFKA_CONTROLLER_QUORUM_VOTERS: "1@localhost:19093",
      KAFKA_LOG_DIRS: "/var/lib/kafka/data",
      // There is only one broker.
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: "1",
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: "1",
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: "1",
      KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR: "1",
      KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR: "1",
      // A misspelled topic must be an error, not a new topic with default settings.
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: "false",
      // No other members will join the group.
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: "0",
    }),
  };
  return {
    name: `${image} container`,
    findMissing: () => checkImage(image, "TOPICSYNC_KAFKA_IMAGE"),
    start: async (options) => {
      const { host, port, stop, ended } = await runContainer(spec, options);
      return {
        description: `${image} (container)`,
        address: `${host}:${port}`,
        stop,
        ended,
        removeData: () => removeData(spec.kind, options.dataFolder),
      };
    },
  };
}

/**
 * Runs MongoDB as a replica set of one member, which transactions need. The image must support the options of
 * mongo.
 */
export function createMongoLauncher(image: string): Launcher {
  const spec: ContainerSpec = {
    kind: "mongo",
    image,
    port: 27017,
    dataPath: "/data/db",
    command: ["mongod", "--replSet", "rs0", "--bind_ip_all"],
  };
  return {
    name: `${image} container`,
    findMissing: () => checkImage(image, "TOPICSYNC_MONGO_IMAGE"),
    start: async (options) => {
      const { host, port, stop, ended } = await runContainer(spec, options);
      const address = `mongodb://${host}:${port}/?directConnection=true`;
      try {
        await ensurePrimary(address, { member: `localhost:${spec.port}`, timeoutMs: 60_000 });
      } catch (error) {
        await stop();
        throw error;
      }
      return {
        description: `${image} (container)`,
        address,
        stop,
        ended,
        removeData: () => removeData(spec.kind, options.dataFolder),
      };
    },
  };
}
