/**
 * Offsets of groups that change without a member: by Kafka's tools, because they expire, and while a
 * transaction moves them.
 */
import { append, type ClusterScene, type ClusterUnderTest } from "./cluster-under-test.ts";
import { commitOffset, deleteGroup, describeGroup, fetchOffset } from "./group-requests.ts";
import { addOffsets, commitOffsets, end, initialise } from "./transaction-requests.ts";

const untilGone = (cluster: ClusterUnderTest, groupId: string, topic: string): Promise<void> =>
  cluster.until(
    "the offset is gone",
    async () => (await fetchOffset(cluster, { groupId }, topic)).found?.[1] === -1,
  );

async function createTopic(cluster: ClusterUnderTest, name: string): Promise<string> {
  const topic = cluster.name(name);
  await cluster.createTopic(topic, 1);
  // The tool sets no offset beyond the end.
  for (let count = 0; count < 10; count += 1) await append(cluster, { topic }, "a");
  return topic;
}

export const offsetScenes: readonly ClusterScene[] = [
  {
    name: "offsets that Kafka's tool sets and deletes, and that expire",
    async play(cluster) {
      const groupId = cluster.name("group");
      const topic = await createTopic(cluster, "read");
      const look = async () => [
        await fetchOffset(cluster, { groupId }, topic),
        await fetchOffset(cluster, { groupId }, topic, true),
      ];
      await cluster.setOffset(groupId, topic, 5);
      const set = await look();
      await commitOffset(cluster, { groupId }, topic, { offset: 7 });
      await cluster.setOffset(groupId, topic, 2);
      const setAgain = await look();
      await cluster.deleteOffset(groupId, topic);
      // A group without offsets exists until Kafka cleans up the next time.
      const deleted = await look();
      await cluster.expireOffset(groupId, topic);
      await untilGone(cluster, groupId, topic);
      const expired = [
        ...(await look()),
        await describeGroup(cluster, groupId),
        await deleteGroup(cluster, groupId),
      ];
      await commitOffset(cluster, { groupId }, topic, { offset: 4 });
      return { set, setAgain, deleted, expired, after: await look() };
    },
  },
  {
    name: "offsets that change while a transaction moves them",
    async play(cluster) {
      const groupId = cluster.name("group");
      const producer = await initialise(cluster, cluster.name("id"));
      const changes: Record<string, (topic: string) => Promise<unknown>> = {
        none: () => Promise.resolve(),
        committed: (topic) => commitOffset(cluster, { groupId }, topic, { offset: 2 }),
        set: (topic) => cluster.setOffset(groupId, topic, 3),
        deleted: (topic) => cluster.deleteOffset(groupId, topic),
        topicDeleted: async (topic) => {
          await cluster.deleteTopic(topic);
          await untilGone(cluster, groupId, topic);
        },
      };
      const seen: unknown[] = [];
      for (const [name, change] of Object.entries(changes)) {
        const topic = await createTopic(cluster, name);
        const look = async () => [
          await fetchOffset(cluster, { groupId }, topic),
          await fetchOffset(cluster, { groupId }, topic, true),
        ];
        await commitOffset(cluster, { groupId }, topic, { offset: 1 });
        await cluster.until(
          "a transaction begins",
          async () => (await addOffsets(cluster, producer, groupId)) === "none",
        );
        await commitOffsets(cluster, producer, groupId, topic, 9);
        await change(topic);
        const during = await look();
        const ended = await end(cluster, producer, true);
        await cluster.until("the offset is stable", async () => {
          const { found } = await fetchOffset(cluster, { groupId }, topic, true);
          return found?.[0] === "none";
        });
        seen.push({ name, during, ended, after: await look() });
      }
      return seen;
    },
  },
];
