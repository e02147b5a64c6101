import { createWireClient, type WireClient } from "./wire-client.ts";
import type { CoordinatorKind } from "../kafka/coordination.ts";
import type { BrokerNode } from "../kafka/topics.ts";
import type { BrokerIndex, ClusterUnderTest, Settings } from "./cluster-under-test.ts";
import { onStage, type Stage } from "./simulated-kafka.ts";

const settleMs = 200;
const failOverMs = 3_000;
const isolationMs = 60_000;
const pollIntervalMs = 20;
const limitMs = 300_000;

/** Brokers of the simulation, whose faults take effect within virtual milliseconds. */
class SimulatedCluster implements ClusterUnderTest {
  readonly #stage: Stage;
  readonly #client: WireClient;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#client = createWireClient(stage.network.createSockets().createClientSockets().open);
    stage.cluster.moveCoordinator("transaction", 0);
  }

  readonly ask: ClusterUnderTest["ask"] = (broker, name, body) =>
    this.#client.ask(this.#stage.cluster.addresses[broker] ?? "", name, body);

  readonly toIndex = (nodeId: number): number => nodeId;

  readonly until: ClusterUnderTest["until"] = async (what, isMet) => {
    const { clock } = this.#stage;
    const end = clock.getTime() + limitMs;
    // Brokers that are away do not answer.
    while (!(await Promise.resolve(isMet()).catch(() => false))) {
      if (clock.getTime() > end) throw new Error(`simulation: gave up waiting until ${what}`);
      await this.#wait(pollIntervalMs);
    }
  };

  name(text: string): string {
    return text;
  }

  async createTopic(name: string, partitions: number, settings: Settings = {}): Promise<void> {
    const { "max.message.bytes": maxBytes } = settings;
    this.#stage.cluster.registry.create({
      name,
      partitions,
      isCopied: false,
      ...(maxBytes === undefined ? {} : { maxBatchBytes: Number(maxBytes) }),
      settings: new Map(Object.entries(settings)),
    });
    await this.#wait(settleMs);
  }

  async grow(topic: string, partitions: number): Promise<void> {
    this.#stage.cluster.registry.grow(topic, partitions);
    await this.#wait(settleMs);
  }

  async deleteTopic(topic: string): Promise<void> {
    this.#stage.cluster.deleteTopic(topic);
    await this.#wait(settleMs);
  }

  deleteBefore(topic: string, partition: number, offset: number): Promise<void> {
    this.#stage.cluster.getPartition(topic, partition).log.truncate(offset);
    return Promise.resolve();
  }

  async moveLeader(topic: string, partition: number, to: BrokerIndex): Promise<void> {
    this.#stage.cluster.moveLeader(topic, partition, to);
    await this.#wait(settleMs);
  }

  addCopy(topic: string, partition: number): Promise<void> {
    this.#stage.cluster.registry.addCopy(this.#stage.cluster.getPartition(topic, partition));
    return Promise.resolve();
  }

  async moveCoordinator(kind: CoordinatorKind, to: BrokerIndex): Promise<void> {
    this.#stage.cluster.moveCoordinator(kind, to);
    await this.#wait(settleMs);
  }

  setOffset(groupId: string, topic: string, offset: number): Promise<void> {
    this.#stage.cluster.setOffset(groupId, topic, 0, { offset, metadata: "" });
    return Promise.resolve();
  }

  deleteOffset(groupId: string, topic: string): Promise<void> {
    this.#stage.cluster.setOffset(groupId, topic, 0, undefined);
    return Promise.resolve();
  }

  expireOffset(groupId: string, topic: string): Promise<void> {
    return this.deleteOffset(groupId, topic);
  }

  async loseEnd(topics: readonly string[], write: (leader: BrokerIndex) => Promise<void>): Promise<void> {
    const all = topics.map((topic) => this.#stage.cluster.getPartition(topic, 0));
    const ends = all.map(({ log }) => log.end);
    for (const { topic } of all) this.#stage.cluster.moveLeader(topic, 0, 1);
    await this.#wait(settleMs);
    await write(1);
    for (const [index, partition] of all.entries()) this.#stage.cluster.cut(partition, ends[index] ?? 0);
    await this.#wait(settleMs);
  }

  async kill(broker: BrokerIndex): Promise<void> {
    this.#stage.cluster.setUp(this.#getNode(broker), false);
    this.#stage.clock.schedule(this.#stage.outside, failOverMs, () => {
      this.#stage.cluster.failOver();
    });
    await this.#wait(settleMs);
  }

  async start(broker: BrokerIndex): Promise<void> {
    this.#stage.cluster.setUp(this.#getNode(broker), true);
    this.#stage.cluster.failOver();
    await this.#wait(settleMs);
  }

  async isolate(during: () => Promise<void>): Promise<void> {
    const until = this.#stage.clock.getTime() + isolationMs;
    this.#stage.cluster.lag(1, isolationMs);
    await during();
    await this.#wait(until - this.#stage.clock.getTime());
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#stage.clock.schedule(this.#stage.outside, ms, resolve);
    });
  }

  #getNode(broker: BrokerIndex): BrokerNode {
    const node = this.#stage.cluster.nodes[broker];
    if (node === undefined) throw new Error(`unknown broker ${broker}`);
    return node;
  }
}

/**
 * Runs a scene against a simulated cluster, whose network and delays follow from the seed. Replaces the
 * platform during the scene.
 */
export const runSimulatedCluster = <T>(
  seed: number,
  scene: (cluster: ClusterUnderTest) => Promise<T>,
): Promise<T> => onStage(seed, { verifies: true }, (stage) => scene(new SimulatedCluster(stage)));
