import { createBroker, type Broker } from "@topicsync/kafka/client";
import { createLogger, type Logger } from "@topicsync/lib/logger";
import { replacePlatform } from "@topicsync/lib/platform";
import { readConfig } from "../../../src/config/config.ts";
import { createClock, createHost, type Clock, type Host } from "../clock.ts";
import { Cluster, type ClusterOptions } from "../kafka/cluster.ts";
import { createRandom } from "../random.ts";
import { SocketNetwork } from "../sockets.ts";
import type { MessageName } from "../wire/messages.ts";
import { withSimulatedTimers } from "../timers.ts";
import { createSimulatedPlatform, startOfTime } from "../platform.ts";
import type { KafkaUnderTest, TestRecord } from "./kafka-under-test.ts";

const hourMs = 3_600_000;
const pollIntervalMs = 10;
const limitMs = 600_000;
const topic = "announcements";
const letters = "letters";
const log = await createLogger("silent");

/** A simulated cluster for one scene. */
export interface Stage {
  readonly clock: Clock;
  readonly outside: Host;
  readonly network: SocketNetwork;
  readonly cluster: Cluster;
  /** Connects a client as the product does. */
  readonly connect: (settings?: Readonly<Record<string, string>>, log?: Logger) => Promise<Broker>;
}

/**
 * Runs something on a simulated cluster, whose fetches and network follow from the seed. Replaces the
 * platform while it runs.
 */
export async function onStage<T>(
  seed: number,
  options: Partial<ClusterOptions>,
  play: (stage: Stage) => Promise<T>,
): Promise<T> {
  const outside = createHost("scene");
  const clock = createClock(outside);
  const random = createRandom(seed);
  const simulated = createSimulatedPlatform(clock, { random, ids: createRandom(seed + 1) });
  const platform = replacePlatform(simulated);
  try {
    const network = new SocketNetwork({ clock, random });
    const cluster = new Cluster({
      ...{ clock, random, network },
      now: simulated.now,
      trace: () => undefined,
      brokers: 2,
      maxBatchesPerFetch: 4,
      maxFetchVersion: 17,
      ...options,
    });
    const connect: Stage["connect"] = async (settings = {}, ownLog = log) => {
      const broker = createBroker(
        { ...readConfig(settings).kafka, brokers: cluster.addresses, groupId: "readers" },
        ownLog,
        network.createSockets(),
      );
      await broker.reach(new AbortController().signal);
      return broker;
    };
    return await withSimulatedTimers(seed, () =>
      playScene(clock, outside, () => play({ clock, outside, network, cluster, connect })),
    );
  } finally {
    replacePlatform(platform);
  }
}

/** Runs a scene against a simulated Kafka. */
export const runSimulated = <T>(
  { seed, partitions }: { readonly seed: number; readonly partitions: number },
  scene: (kafka: KafkaUnderTest) => Promise<T>,
): Promise<T> => {
  let losesSync = false;
  let breakConnections = (): void => undefined;
  const onRequest = (name: MessageName): undefined => {
    if (!losesSync || name !== "syncGroup3") return;
    losesSync = false;
    breakConnections();
  };
  return onStage(seed, { onRequest }, async (stage) => {
    const { network, cluster, connect } = stage;
    breakConnections = () => {
      for (const { nodeId } of cluster.nodes) network.resetAll(cluster.getServer(nodeId));
    };
    const kafka = createLog(stage, partitions);
    cluster.registry.create({ name: letters, partitions: 1 });
    const broker = await connect();
    const producer = broker.createProducer(letters);
    return scene({
      ...kafka,
      startOfTime,
      topic,
      watch: broker.watch(topic),
      createMember: () => broker.createMember({ topic, groupId: "readers", commitsOffsets: true }),
      send: (records) => producer.send(records),
      loseSync() {
        losesSync = true;
      },
      hasLostSync: () => !losesSync,
      setConnected(isConnected) {
        for (const node of cluster.nodes) cluster.setUp(node, isConnected);
      },
    });
  });
};

type LogUnderTest = Pick<KafkaUnderTest, "append" | "begin" | "deleteBefore" | "grow" | "recreate" | "until">;

/** Creates the topic of a scene. Returns what happens to its log. */
function createLog({ clock, outside, cluster }: Stage, partitions: number): LogUnderTest {
  const create = (): void => void cluster.registry.create({ name: topic, partitions });
  create();
  const toNew = (records: readonly TestRecord[]) =>
    records.map(({ value, at = 0 }) => ({
      key: null,
      value: Buffer.from(value),
      timestamp: startOfTime + at,
      headers: [],
    }));
  const getMarkerTime = (): number => startOfTime + hourMs + Math.floor(clock.getTime());
  const produce = (partition: number, records: readonly TestRecord[], end?: "leave open"): Promise<void> => {
    cluster.produce(cluster.getPartition(topic, partition), toNew(records), end);
    return Promise.resolve();
  };
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.schedule(outside, ms, resolve);
    });
  return {
    append: produce,
    begin: (partition) =>
      Promise.resolve({
        append: (records) => produce(partition, records, "leave open"),
        end(commit) {
          cluster.endTransaction(cluster.getPartition(topic, partition), commit, getMarkerTime());
          return Promise.resolve();
        },
      }),
    deleteBefore(partition, offset) {
      cluster.getPartition(topic, partition).log.truncate(offset);
      return Promise.resolve();
    },
    async grow(count) {
      cluster.registry.grow(topic, count);
      await wait(100);
    },
    async recreate() {
      cluster.deleteTopic(topic);
      await wait(500);
      create();
      await wait(100);
    },
    async until(what, isMet) {
      const end = clock.getTime() + limitMs / 2;
      while (!(await isMet())) {
        if (clock.getTime() > end) throw new Error(`simulation: gave up waiting until ${what}`);
        await wait(pollIntervalMs);
      }
    },
  };
}

/** Lets the time of a scene pass until it ends. */
export async function playScene<T>(clock: Clock, outside: Host, scene: () => Promise<T>): Promise<T> {
  const progress = { isDone: false };
  const outcome = scene().finally(() => {
    progress.isDone = true;
  });
  // Reported below, after the clock has stopped.
  outcome.catch(() => undefined);
  // The clock stops when nothing is scheduled, although the scene may still go on.
  const tick = (): void => void clock.schedule(outside, pollIntervalMs, tick);
  tick();
  await clock.runUntil(limitMs, () => progress.isDone);
  if (!progress.isDone) throw new Error("simulation: the scene does not end");
  return outcome;
}
