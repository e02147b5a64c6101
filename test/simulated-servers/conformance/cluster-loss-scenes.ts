/** A log that loses its end: the only broker that had it is away, and another one was elected. */
import {
  append,
  describeTopic,
  fetchById,
  fetchByName,
  listOffset,
  startOfTime,
  type BrokerIndex,
  type ClusterScene,
  type ClusterUnderTest,
} from "./cluster-under-test.ts";
import { end, endCompleted, initialise, send, untilAdded, type Producer } from "./transaction-requests.ts";

const earliest = -2;
const latest = -1;
const uncommitted = 0;

async function createTopic(cluster: ClusterUnderTest, name: string): Promise<string> {
  const topic = cluster.name(name);
  await cluster.createTopic(topic, 1, { "unclean.leader.election.enable": "true" });
  await cluster.addCopy(topic, 0);
  return topic;
}

/**
 * Records without transactions: what the log is before and after something else is written in place of what
 * is lost.
 */
async function createPlain(cluster: ClusterUnderTest) {
  const topic = await createTopic(cluster, "plain");
  const place = { topic };
  await append(cluster, place, "a", "b", "c");
  const { topicId, partitions } = await describeTopic(cluster, 0, topic);
  const look = async () => {
    const fetches: unknown[] = [];
    for (const from of [0, 2, 3, 4, 5, 6, 7])
      fetches.push(
        await fetchByName(cluster, place, { from }),
        await fetchById(cluster, { topic: topicId }, { from }),
      );
    const listed: unknown[] = [];
    for (const at of [earliest, latest, startOfTime]) listed.push(await listOffset(cluster, place, at));
    return { fetches, listed };
  };
  return {
    topic,
    lose: async (broker: BrokerIndex) => [
      await append(cluster, { topic, broker }, "lost", "lost"),
      await append(cluster, { topic, broker }, "lost"),
    ],
    async examine() {
      const described = await describeTopic(cluster, 0, topic);
      return {
        isSame: described.topicId === topicId,
        hasLaterEpoch: Number(described.partitions[0]?.leaderEpoch) > Number(partitions[0]?.leaderEpoch),
        cut: await look(),
        appended: await append(cluster, place, "d", "e"),
        overwritten: await look(),
      };
    },
  };
}

/** Transactions that lose their marker, or their last record, and one that has lost nothing. */
async function createTransactional(cluster: ClusterUnderTest) {
  const topic = await createTopic(cluster, "transactional");
  await cluster.moveCoordinator("transaction", 1);
  const create = (name: string) => initialise(cluster, cluster.name(name), { coordinator: 1 });
  const [unmarked, unsent, kept] = [await create("unmarked"), await create("unsent"), await create("kept")];
  const sendOne = (producer: Producer, firstSequence: number, value: string, broker: BrokerIndex = 0) =>
    send(cluster, producer, { topic, broker }, { firstSequence, values: [value] });
  const untilEnd = (offset: number, broker: BrokerIndex = 0) =>
    cluster.until(
      "the marker is written",
      async () => (await listOffset(cluster, { topic, broker }, latest, uncommitted))?.offset === offset,
    );
  const look = async () => [
    await fetchByName(cluster, { topic }),
    await fetchByName(cluster, { topic }, { isolationLevel: uncommitted }),
    await listOffset(cluster, { topic }, latest),
  ];
  for (const producer of [unmarked, unsent, kept]) await untilAdded(cluster, producer, topic);
  const sent = [
    await sendOne(kept, 0, "kept"),
    await sendOne(unsent, 0, "first"),
    await sendOne(unmarked, 0, "unmarked"),
    await end(cluster, kept, true),
    await endCompleted(cluster, kept, true),
  ];
  await untilEnd(4);
  return {
    topic,
    async lose(broker: BrokerIndex) {
      const lost = [
        await sendOne(unsent, 1, "lost", broker),
        await end(cluster, unmarked, true),
        await endCompleted(cluster, unmarked, true),
      ];
      await untilEnd(6, broker);
      return lost;
    },
    async examine() {
      await cluster.moveCoordinator("transaction", 0);
      const [marked, resent] = [
        { ...unmarked, coordinator: 0 } as const,
        { ...unsent, coordinator: 0 } as const,
      ];
      const cut = await look();
      const continued = [
        await sendOne(resent, 2, "gap"),
        await sendOne(resent, 1, "again"),
        await sendOne(marked, 1, "late"),
        await end(cluster, resent, true),
        await endCompleted(cluster, resent, true),
        await endCompleted(cluster, marked, true),
      ];
      await untilEnd(7);
      const hanging = await look();
      const owner = await initialise(cluster, unmarked.transactionalId);
      await untilAdded(cluster, owner, topic);
      const next = [
        owner.producerEpoch - unmarked.producerEpoch,
        (await sendOne(owner, 0, "next")).error,
        await end(cluster, owner, false),
        await endCompleted(cluster, owner, false),
      ];
      await untilEnd(9);
      return { sent, cut, continued, hanging, next, after: await look() };
    },
  };
}

export const lossScenes: readonly ClusterScene[] = [
  {
    name: "logs that lose their end",
    async play(cluster) {
      const plain = await createPlain(cluster);
      const transactional = await createTransactional(cluster);
      const lost: unknown[] = [];
      await cluster.loseEnd([plain.topic, transactional.topic], async (leader) => {
        lost.push(await plain.lose(leader), await transactional.lose(leader));
      });
      return { lost, plain: await plain.examine(), transactional: await transactional.examine() };
    },
  },
];
