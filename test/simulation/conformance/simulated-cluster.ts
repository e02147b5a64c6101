import { createWireClient } from "./wire-client.ts";
import type { BrokerNode } from "../cluster/topics.ts";
import type { BrokerIndex, ClusterUnderTest } from "./cluster-under-test.ts";
import { onStage } from "./simulated-kafka.ts";

const settleMs = 200;
const failOverMs = 3_000;
const isolationMs = 60_000;
const pollIntervalMs = 20;
const limitMs = 300_000;

/**
 * Runs a scene against a simulated cluster, whose network and delays follow from the seed. Replaces the
 * platform meanwhile.
 */
export const runSimulatedCluster = <T>(
  seed: number,
  scene: (cluster: ClusterUnderTest) => Promise<T>,
): Promise<T> =>
  onStage(seed, { verifies: true }, async ({ clock, outside, network, cluster }) => {
    cluster.moveCoordinator("transaction", 0);
    const sockets = network.createSockets();
    const client = createWireClient(sockets.createClientSockets().open);
    const wait = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        clock.schedule(outside, ms, resolve);
      });
    const getNode = (broker: BrokerIndex): BrokerNode => {
      const node = cluster.nodes[broker];
      if (node === undefined) throw new Error(`unknown broker ${broker}`);
      return node;
    };
    return scene({
      ask: (broker, name, body) => client.ask(cluster.addresses[broker] ?? "", name, body),
      name: (text) => text,
      toIndex: (nodeId) => nodeId,
      async createTopic(name, partitions, settings = {}) {
        const { "max.message.bytes": maxBytes } = settings;
        cluster.registry.create({
          name,
          partitions,
          isCopied: false,
          ...(maxBytes === undefined ? {} : { maxBatchBytes: Number(maxBytes) }),
          settings: new Map(Object.entries(settings)),
        });
        await wait(settleMs);
      },
      async grow(topic, partitions) {
        cluster.registry.grow(topic, partitions);
        await wait(settleMs);
      },
      async deleteTopic(topic) {
        cluster.deleteTopic(topic);
        await wait(settleMs);
      },
      deleteBefore(topic, partition, offset) {
        cluster.getPartition(topic, partition).log.truncate(offset);
        return Promise.resolve();
      },
      async moveLeader(topic, partition, to) {
        cluster.moveLeader(topic, partition, to);
        await wait(settleMs);
      },
      addCopy(topic, partition) {
        cluster.registry.addCopy(cluster.getPartition(topic, partition));
        return Promise.resolve();
      },
      async moveCoordinator(kind, to) {
        cluster.moveCoordinator(kind, to);
        await wait(settleMs);
      },
      setOffset(groupId, topic, offset) {
        cluster.setOffset(groupId, topic, 0, { offset, metadata: "" });
        return Promise.resolve();
      },
      deleteOffset(groupId, topic) {
        cluster.setOffset(groupId, topic, 0, undefined);
        return Promise.resolve();
      },
      expireOffset(groupId, topic) {
        cluster.setOffset(groupId, topic, 0, undefined);
        return Promise.resolve();
      },
      async loseEnd(topics, write) {
        const all = topics.map((topic) => cluster.getPartition(topic, 0));
        const ends = all.map(({ log }) => log.end);
        for (const { topic } of all) cluster.moveLeader(topic, 0, 1);
        await wait(settleMs);
        await write(1);
        for (const [index, partition] of all.entries()) cluster.cut(partition, ends[index] ?? 0);
        await wait(settleMs);
      },
      async kill(broker) {
        cluster.setUp(getNode(broker), false);
        clock.schedule(outside, failOverMs, () => {
          cluster.failOver();
        });
        await wait(settleMs);
      },
      async start(broker) {
        cluster.setUp(getNode(broker), true);
        cluster.failOver();
        await wait(settleMs);
      },
      async isolate(during) {
        const until = clock.getTime() + isolationMs;
        cluster.lag(1, isolationMs);
        await during();
        await wait(until - clock.getTime());
      },
      async until(what, isMet) {
        const end = clock.getTime() + limitMs;
        // Brokers that are away do not answer.
        while (!(await Promise.resolve(isMet()).catch(() => false))) {
          if (clock.getTime() > end) throw new Error(`simulation: gave up waiting until ${what}`);
          await wait(pollIntervalMs);
        }
      },
    });
  });
