import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import kafkajs from "kafkajs";

import { formatServerProperties, type ServerProcess, findFreePort, localhost } from "@topicsync/embedded";
import { stopIdleChecks } from "@topicsync/kafka/internals";
import { startKafkaNode } from "./kafka-node.ts";
import { until } from "./poll.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

/** A broker of a cluster. */
export interface Node {
  /** Kafka's id of it, for `replicaAssignment`. */
  readonly id: number;
  readonly address: string;
  /** Where its logs are. */
  readonly logs: string;
  stop(): Promise<void>;
  /**
   * Ends it without a warning, as a crash does: it keeps its partitions until its session expires, after
   * three seconds.
   */
  kill(): Promise<void>;
  /** Starts it again with the same data and port. */
  start(): Promise<void>;
  /** Suspends the process, as a long garbage collection does. */
  freeze(): void;
  thaw(): void;
}

/** Two brokers of one cluster. */
export interface TwoBrokers {
  /**
   * Also the controller, unless it has a process of its own. Unless they are replicated, it has the offsets
   * of all groups and the state of all transactions.
   */
  readonly first: Node;
  readonly second: Node;
  /** The addresses of both. */
  readonly addresses: string;
  /**
   * Between the second broker and the controller. While it is cut, that broker hears of no changes, and
   * serves what it knows.
   */
  readonly controllerProxy: TcpProxy | undefined;
}

export interface ClusterOptions {
  /** More lines of server.properties, for both. */
  readonly settings?: readonly string[];
  /**
   * Both brokers have everything, the offsets and transactions too. Otherwise Kafka's own topics are on the
   * first one only.
   */
  readonly isReplicated?: boolean;
  /** The controller has a process of its own, so that each broker can be killed. */
  readonly hasOwnController?: boolean;
  /** Each broker is in a rack of its own, `rack-1` and `rack-2`, so that clients read the nearest replica. */
  readonly hasRacks?: boolean;
  /** The second broker reaches the controller through a proxy. */
  readonly hasControllerProxy?: boolean;
}

const firstId = 1;
const ownControllerId = 3;

/**
 * A new topic gets these, too. A broker that was away never becomes the leader before it has what is
 * acknowledged.
 */
const replication = [
  "default.replication.factor=2",
  "min.insync.replicas=1",
  "unclean.leader.election.enable=false",
  "offsets.topic.replication.factor=2",
  "transaction.state.log.replication.factor=2",
  // Several, so that each broker coordinates some groups and transactions.
  "offsets.topic.num.partitions=4",
  "transaction.state.log.num.partitions=4",
];

const rackSelector = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector";

/**
 * Starts two brokers for this file only. Create topics with `replicaAssignment: [{ partition: 0, replicas:
 * [second.id] }]` to choose the leaders; without, Kafka distributes partitions to both.
 */
export async function startTwoBrokers(options: ClusterOptions = {}): Promise<TwoBrokers> {
  const folder = mkdtempSync(join(tmpdir(), "topicsync-cluster-"));
  const started = new AsyncDisposableStack();
  after(async () => {
    await started.disposeAsync();
    rmSync(folder, { recursive: true, force: true });
  });
  return startCluster(folder, started, options);
}

/** Starts two brokers with their data in this folder. They are stopped with `started`. */
export async function startCluster(
  folder: string,
  started: AsyncDisposableStack,
  {
    settings = [],
    isReplicated = false,
    hasOwnController = false,
    hasRacks = false,
    hasControllerProxy = false,
  }: ClusterOptions = {},
): Promise<TwoBrokers> {
  const controllerPort = await findFreePort();
  const controller = `${localhost}:${controllerPort}`;
  const controllerId = hasOwnController ? ownControllerId : firstId;
  const controllerProxy = hasControllerProxy ? await startTcpProxy(controllerPort) : undefined;
  const running = new Set<ServerProcess>();
  started.defer(async () => {
    await Promise.all([...running].map((server) => server.stop()));
  });

  async function startNode(id: number): Promise<Node> {
    const port = await findFreePort();
    const address = `${localhost}:${port}`;
    const proxied = controllerProxy === undefined ? controller : `${localhost}:${controllerProxy.port}`;
    const voter = id === firstId + 1 ? proxied : controller;
    const listener = id === controllerId ? `CONTROLLER://${controller}` : `PLAINTEXT://${address}`;
    const oneRole = [
      `node.id=${id}`,
      `process.roles=${id === controllerId ? "controller" : "broker"}`,
      `controller.quorum.voters=${controllerId}@${voter}`,
      `listeners=${listener}`,
      `advertised.listeners=${listener}`,
    ];
    // Brokers fetch from the controller at the address that it advertises.
    const bothRoles = [`advertised.listeners=PLAINTEXT://${address},CONTROLLER://${proxied}`];
    const data = join(folder, String(id));
    const lines = [
      formatServerProperties({
        logs: join(data, "logs"),
        metadata: join(data, "metadata"),
        port,
        controllerPort,
      }),
      // In a properties file the last value of a key is used.
      ...(id === controllerId && !hasOwnController ? bothRoles : oneRole),
      ...(isReplicated ? replication : []),
      ...(hasRacks ? [`broker.rack=rack-${id}`, rackSelector] : []),
      // The files of deleted topics stay mapped for a minute otherwise, and tests delete many.
      "log.segment.delete.delay.ms=1000",
      ...settings,
    ];
    let server: ServerProcess;
    const launch = async (): Promise<void> => {
      server = await startKafkaNode(data, lines);
      running.add(server);
    };
    const end = async (signal?: "SIGKILL"): Promise<void> => {
      running.delete(server);
      if (signal === undefined) await server.stop();
      else process.kill(server.pid, signal);
      await server.ended;
    };
    await launch();
    return {
      id,
      address,
      logs: join(data, "logs"),
      start: launch,
      stop: () => end(),
      kill: () => end("SIGKILL"),
      freeze: () => void process.kill(server.pid, "SIGSTOP"),
      thaw: () => void process.kill(server.pid, "SIGCONT"),
    };
  }

  if (hasOwnController) await startNode(ownControllerId);
  const first = await startNode(firstId);
  if (!isReplicated) await createInternalTopics(first.address);
  const second = await startNode(firstId + 1);
  if (isReplicated) await createInternalTopics(first.address);
  return { first, second, addresses: `${first.address},${second.address}`, controllerProxy };
}

/**
 * Creates Kafka's own topics, and waits until their coordinators have loaded them. While there is only one
 * broker, it gets all of their partitions.
 */
export async function createInternalTopics(address: string): Promise<void> {
  stopIdleChecks();
  const kafka = new kafkajs.Kafka({
    brokers: [address],
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 40 },
  });
  const admin = kafka.admin();
  const producer = kafka.producer({
    transactionalId: "first",
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  try {
    await Promise.all([admin.connect(), producer.connect()]);
    await until("there is a coordinator of groups", () => admin.fetchOffsets({ groupId: "first" }));
    await until("there is a coordinator of transactions", async () =>
      (await producer.transaction()).abort().then(() => true),
    );
  } finally {
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  }
}
