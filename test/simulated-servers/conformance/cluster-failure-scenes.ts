/** What brokers answer when a leader is killed, and after it has come back. */
import {
  append,
  describeTopic,
  fetchByName,
  listOffset,
  tryLog,
  type BrokerIndex,
  type ClusterScene,
  type ClusterUnderTest,
} from "./cluster-under-test.ts";

const latest = -1;

/** The brokers that a broker tells of. */
async function listBrokers({ ask, toIndex }: ClusterUnderTest, broker: BrokerIndex) {
  const { brokers } = await ask(broker, "metadata6", { topics: [], allowAutoTopicCreation: false });
  return brokers.map(({ nodeId }) => toIndex(nodeId)).toSorted();
}

export const failureScenes: readonly ClusterScene[] = [
  {
    name: "a leader that is killed, and comes back",
    async play(cluster) {
      const topic = cluster.name("copied");
      await cluster.createTopic(topic, 2);
      for (const partition of [0, 1]) await cluster.addCopy(topic, partition);
      const place = { broker: 0, topic, partition: 1 } as const;
      const copy = { ...place, broker: 1 } as const;
      await append(cluster, copy, "a", "b");
      const before = await describeTopic(cluster, 0, topic);
      const { topicId } = before;
      const look = async (broker: BrokerIndex) => {
        const { error, partitions } = await describeTopic(cluster, broker, topic);
        const epochs = before.partitions.map(({ leaderEpoch }) => leaderEpoch);
        return {
          error,
          brokers: await listBrokers(cluster, broker),
          partitions: partitions.map(({ leaderEpoch, ...one }, index) => ({
            ...one,
            epochs: leaderEpoch - (epochs[index] ?? 0),
          })),
        };
      };
      await cluster.kill(1);
      await cluster.until("the copy leads", async () => {
        const { partitions } = await describeTopic(cluster, 0, topic);
        // A broker names itself before it takes requests.
        return partitions[1]?.leader === 0 && (await listOffset(cluster, place, latest))?.error === "none";
      });
      const away = {
        described: await look(0),
        requests: await tryLog(cluster, place, topicId),
        log: await fetchByName(cluster, place),
        end: await listOffset(cluster, place, latest),
      };
      await cluster.start(1);
      await cluster.until(
        "the former leader has all records",
        async () => (await fetchByName(cluster, copy))?.bounds.at(-1) === 3,
      );
      return {
        away,
        back: {
          described: [await look(0), await look(1)],
          requests: await tryLog(cluster, copy, topicId),
          log: await fetchByName(cluster, copy),
          outside: await fetchByName(cluster, copy, { from: 4 }),
          leader: await tryLog(cluster, place, topicId),
        },
      };
    },
  },
  {
    name: "a leader with the only copy that is killed, and comes back",
    async play(cluster) {
      const topic = cluster.name("alone");
      await cluster.createTopic(topic, 2);
      const place = { broker: 1, topic, partition: 1 } as const;
      await append(cluster, place, "a");
      const before = await describeTopic(cluster, 0, topic);
      const { topicId } = before;
      const look = async (broker: BrokerIndex) => {
        const { error, partitions } = await describeTopic(cluster, broker, topic);
        const epoch = Number(before.partitions[1]?.leaderEpoch);
        return {
          error,
          partitions: partitions.map((one) => ({ ...one, leaderEpoch: one.leaderEpoch - epoch })),
        };
      };
      await cluster.kill(1);
      await cluster.until(
        "the leader is unknown",
        async () => (await describeTopic(cluster, 0, topic)).partitions[1]?.leader === -1,
      );
      const away = [await look(0), await tryLog(cluster, { ...place, broker: 0 }, topicId)];
      await cluster.start(1);
      await cluster.until(
        "the leader is back",
        async () => (await describeTopic(cluster, 0, topic)).partitions[1]?.leader === 1,
      );
      await cluster.until(
        "it knows that it leads",
        async () => (await fetchByName(cluster, place))?.error === "none",
      );
      return { away, back: [await look(0), await look(1), await tryLog(cluster, place, topicId)] };
    },
  },
];
