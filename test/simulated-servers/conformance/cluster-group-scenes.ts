/** What coordinators of groups answer: to members, to those that are none, and about committed offsets. */
import { append, nameError, type ClusterScene } from "./cluster-under-test.ts";
import {
  commitOffset,
  deleteGroup,
  describeGroup,
  fetchOffset,
  heartbeat,
  join,
  joinAlone,
  leave,
  sync,
} from "./group-requests.ts";

export const groupScenes: readonly ClusterScene[] = [
  {
    name: "a member from joining to leaving",
    async play(cluster) {
      const groupId = cluster.name("group");
      const topic = cluster.name("read");
      await cluster.createTopic(topic, 1);
      await append(cluster, { topic }, "a");
      const member = await joinAlone(cluster, groupId);
      const { memberId, generation } = member;
      const place = { groupId };
      const beforeSync = [
        await heartbeat(cluster, groupId, member),
        await commitOffset(cluster, place, topic, { offset: 1, memberId, generation }),
        await describeGroup(cluster, groupId),
      ];
      const synced = await sync(cluster, groupId, member);
      const joined = [
        await heartbeat(cluster, groupId, member),
        await describeGroup(cluster, groupId),
        await sync(cluster, groupId, member),
      ];
      const other = { memberId: "other", generation };
      const later = { memberId, generation: generation + 1 };
      const earlier = { memberId, generation: generation - 1 };
      const strangers: unknown[] = [];
      for (const one of [other, later, earlier])
        strangers.push([
          await heartbeat(cluster, groupId, one),
          await sync(cluster, groupId, one),
          await commitOffset(cluster, place, topic, { offset: 3, ...one }),
        ]);
      const commits = [
        await commitOffset(cluster, place, topic, { offset: 1, memberId, generation }),
        await fetchOffset(cluster, place, topic),
        // By a tool, while somebody is a member.
        await commitOffset(cluster, place, topic, { offset: 7 }),
        await deleteGroup(cluster, groupId),
        await fetchOffset(cluster, place, topic),
      ];
      const ended = [
        (await join(cluster, groupId, "other")).error,
        await leave(cluster, groupId, "other"),
        await leave(cluster, groupId, memberId),
        await heartbeat(cluster, groupId, member),
        await sync(cluster, groupId, member),
        await commitOffset(cluster, place, topic, { offset: 8, memberId, generation }),
        await describeGroup(cluster, groupId),
      ];
      return { member: member.described, beforeSync, synced, joined, strangers, commits, ended };
    },
  },
  {
    name: "members that no group, or not this one, accepts",
    async play(cluster) {
      const groupId = cluster.name("picky");
      const tryAs = async (other: Parameters<typeof join>[4]) =>
        nameError((await join(cluster, groupId, "", 0, other)).error);
      const alone = [
        await tryAs({ groupId: "" }),
        await tryAs({ sessionTimeout: 1 }),
        await tryAs({ sessionTimeout: 2_147_483_647 }),
      ];
      await joinAlone(cluster, groupId);
      const beside = [
        await tryAs({ protocolType: "connect" }),
        await tryAs({ protocols: [{ name: "sticky", metadata: Buffer.from("m") }] }),
      ];
      return { alone, beside };
    },
  },
  {
    name: "offsets that a tool sets and deletes",
    async play(cluster) {
      const groupId = cluster.name("tool");
      const topic = cluster.name("read");
      await cluster.createTopic(topic, 1);
      const place = { groupId };
      const unset = [
        await fetchOffset(cluster, place, topic),
        await fetchOffset(cluster, place, `${topic}-never`),
        await describeGroup(cluster, groupId),
        await deleteGroup(cluster, groupId),
        await heartbeat(cluster, groupId, { memberId: "m", generation: 1 }),
        await sync(cluster, groupId, { memberId: "m", generation: 1 }),
        await leave(cluster, groupId, "m"),
        await commitOffset(cluster, place, topic, { offset: 1, memberId: "m", generation: 1 }),
      ];
      const set = [
        await commitOffset(cluster, place, topic, { offset: 99 }),
        await fetchOffset(cluster, place, topic),
        await fetchOffset(cluster, place, topic, true),
        await describeGroup(cluster, groupId),
        await commitOffset(cluster, place, `${topic}-never`, { offset: 1 }),
        await commitOffset(cluster, place, topic, { offset: 0 }),
        await fetchOffset(cluster, place, topic),
      ];
      const deleted = [await deleteGroup(cluster, groupId), await fetchOffset(cluster, place, topic)];
      await commitOffset(cluster, place, topic, { offset: 5 });
      await cluster.deleteTopic(topic);
      await cluster.until(
        "the offsets of the topic are gone",
        async () => (await fetchOffset(cluster, place, topic)).found?.[1] === -1,
      );
      return { unset, set, deleted, replaced: await fetchOffset(cluster, place, topic) };
    },
  },
  {
    name: "requests to a broker that does not coordinate",
    async play(cluster) {
      const groupId = cluster.name("elsewhere");
      const topic = cluster.name("read");
      await cluster.createTopic(topic, 1);
      const place = { broker: 1, groupId } as const;
      const { memberId, generation } = await joinAlone(cluster, groupId);
      const identity = { transactionalId: groupId, producerId: 1, producerEpoch: 0 };
      const found = await Promise.all(
        ([0, 1] as const).flatMap((broker) =>
          [0, 1].map(async (type) => {
            const { error, nodeId } = await cluster.ask(broker, "findCoordinator2", { key: groupId, type });
            return [nameError(error), cluster.toIndex(nodeId)];
          }),
        ),
      );
      const initialised = await cluster.ask(1, "initProducerId1", {
        transactionalId: groupId,
        transactionTimeout: 60_000,
      });
      const added = await cluster.ask(1, "addPartitionsToTxn1", {
        ...identity,
        topics: [{ topic, partitions: [0] }],
      });
      return {
        found,
        group: [
          nameError((await join(cluster, groupId, memberId, 1)).error),
          await sync(cluster, groupId, { memberId, generation }, 1),
          await heartbeat(cluster, groupId, { memberId, generation }, 1),
          await commitOffset(cluster, place, topic, { offset: 1 }),
          await fetchOffset(cluster, place, topic),
          await deleteGroup(cluster, groupId, 1),
        ],
        transaction: [
          nameError(initialised.error),
          nameError(added.topics[0]?.partitions[0]?.error ?? -1),
          nameError((await cluster.ask(1, "addOffsetsToTxn1", { ...identity, groupId })).error),
          nameError((await cluster.ask(1, "endTxn1", { ...identity, commit: true })).error),
        ],
      };
    },
  },
];
