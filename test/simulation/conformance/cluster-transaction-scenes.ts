/** What the coordinator of transactions and the leaders answer to transactional producers, right ones and wrong ones. */
import { createBatch } from "../wire/batches.ts";
import {
  append,
  createRecords,
  fetchByName,
  fetchOffset,
  listOffset,
  nameError,
  produce,
  type ClusterScene,
  type ClusterUnderTest,
} from "./cluster-under-test.ts";

interface Identity {
  readonly transactionalId: string;
  readonly producerId: number;
  readonly producerEpoch: number;
}

const latest = -1;

async function initialise({ ask, until }: ClusterUnderTest, transactionalId: string): Promise<Identity> {
  let identity: Identity | undefined;
  await until("the producer is initialised", async () => {
    const { error, ...found } = await ask(0, "initProducerId1", {
      transactionalId,
      transactionTimeout: 60_000,
    });
    if (error === 0)
      identity = {
        transactionalId,
        producerId: found.producerId,
        producerEpoch: found.producerEpoch,
      };
    return error === 0;
  });
  if (identity === undefined) throw new Error("not initialised");
  return identity;
}

const addPartition = async ({ ask }: ClusterUnderTest, identity: Identity, topic: string, partition = 0) => {
  const { topics } = await ask(0, "addPartitionsToTxn1", {
    ...identity,
    topics: [{ topic, partitions: [partition] }],
  });
  return nameError(topics[0]?.partitions[0]?.error ?? -1);
};

/** Repeated while the last transaction is being completed. */
const untilAdded = async (cluster: ClusterUnderTest, identity: Identity, topic: string): Promise<void> =>
  cluster.until(
    "a transaction begins",
    async () => (await addPartition(cluster, identity, topic)) === "none",
  );

const end = async ({ ask }: ClusterUnderTest, identity: Identity, commit: boolean) =>
  nameError((await ask(0, "endTxn1", { ...identity, commit })).error);

/** Repeated while the end is being completed, until it is answered otherwise. */
async function endCompleted(cluster: ClusterUnderTest, identity: Identity, commit: boolean): Promise<string> {
  let answer = "";
  await cluster.until("the transaction is completed", async () => {
    answer = await end(cluster, identity, commit);
    return answer !== "concurrentTransactions";
  });
  return answer;
}

const addOffsets = async ({ ask }: ClusterUnderTest, identity: Identity, groupId: string) =>
  nameError((await ask(0, "addOffsetsToTxn1", { ...identity, groupId })).error);

const commitOffsets = async (
  { ask }: ClusterUnderTest,
  identity: Identity,
  groupId: string,
  topic: string,
  offset: number,
) => {
  const { topics } = await ask(0, "txnOffsetCommit1", {
    ...{ ...identity, groupId },
    topics: [{ topic, partitions: [{ partition: 0, offset, metadata: "m" }] }],
  });
  return nameError(topics[0]?.partitions[0]?.error ?? -1);
};

const send = (
  cluster: ClusterUnderTest,
  identity: Identity,
  topic: string,
  { firstSequence, values }: { readonly firstSequence: number; readonly values: readonly string[] },
) =>
  produce(
    cluster,
    { topic },
    createBatch(createRecords(values), { ...identity, firstSequence, isTransactional: true }),
    identity.transactionalId,
  );

export const transactionScenes: readonly ClusterScene[] = [
  {
    name: "a transaction request by request, and again after its end",
    async play(cluster) {
      const topic = cluster.name("egress");
      await cluster.createTopic(topic, 1);
      const identity = await initialise(cluster, cluster.name("id"));
      const early = [
        await end(cluster, identity, true),
        await end(cluster, identity, false),
        (await send(cluster, identity, topic, { firstSequence: 0, values: ["early"] })).error,
      ];
      await untilAdded(cluster, identity, topic);
      const sent = [
        await send(cluster, identity, topic, { firstSequence: 0, values: ["a", "b"] }),
        // Repeated, as after a lost response.
        await send(cluster, identity, topic, { firstSequence: 0, values: ["a", "b"] }),
        await send(cluster, identity, topic, { firstSequence: 4, values: ["gap"] }),
        await send(cluster, identity, topic, { firstSequence: 2, values: ["c"] }),
        await append(cluster, { topic }, "d"),
      ];
      const during = [await fetchByName(cluster, { topic }), await listOffset(cluster, { topic }, latest)];
      const ends = [await end(cluster, identity, true), await endCompleted(cluster, identity, true)];
      const again = await endCompleted(cluster, identity, false);
      await cluster.until(
        "the marker is written",
        async () => (await listOffset(cluster, { topic }, latest))?.offset === 5,
      );
      return { early, sent, during, ends, again, after: await fetchByName(cluster, { topic }) };
    },
  },
  {
    name: "an aborted transaction",
    async play(cluster) {
      const topic = cluster.name("egress");
      await cluster.createTopic(topic, 1);
      const identity = await initialise(cluster, cluster.name("id"));
      await untilAdded(cluster, identity, topic);
      await send(cluster, identity, topic, { firstSequence: 0, values: ["a"] });
      const ends = [await end(cluster, identity, false), await endCompleted(cluster, identity, false)];
      const again = await endCompleted(cluster, identity, true);
      await cluster.until(
        "the marker is written",
        async () => (await listOffset(cluster, { topic }, latest))?.offset === 2,
      );
      return { ends, again, after: await fetchByName(cluster, { topic }) };
    },
  },
  {
    name: "identities that are not those of the producer",
    async play(cluster) {
      const topic = cluster.name("egress");
      const groupId = cluster.name("router");
      await cluster.createTopic(topic, 1);
      const id = cluster.name("id");
      const former = await initialise(cluster, id);
      await untilAdded(cluster, former, topic);
      await send(cluster, former, topic, { firstSequence: 0, values: ["fenced"] });
      const owner = await initialise(cluster, id);
      const wrong: Record<string, unknown> = {};
      for (const [name, identity] of [
        ["former", former],
        ["later", { ...owner, producerEpoch: owner.producerEpoch + 1 }],
        ["otherProducer", { ...owner, producerId: owner.producerId + 1_000_000 }],
        ["unknown", { ...owner, transactionalId: `${id}-never` }],
      ] as const)
        wrong[name] = [
          await addPartition(cluster, identity, topic),
          await addOffsets(cluster, identity, groupId),
          await commitOffsets(cluster, identity, groupId, topic, 1),
          (await send(cluster, identity, topic, { firstSequence: 0, values: ["x"] })).error,
          await end(cluster, identity, true),
        ];
      return {
        steps: owner.producerEpoch - former.producerEpoch,
        isSame: owner.producerId === former.producerId,
        wrong,
        unknownPartition: [
          await addPartition(cluster, owner, topic, 7),
          await addPartition(cluster, owner, `${topic}-never`),
        ],
      };
    },
  },
  {
    name: "a transaction that begins while the last one is completed",
    async play(cluster) {
      const topic = cluster.name("egress");
      await cluster.createTopic(topic, 2);
      const identity = await initialise(cluster, cluster.name("id"));
      // A broker that completes it at once is asked again.
      await cluster.until("a transaction is refused", async () => {
        await untilAdded(cluster, identity, topic);
        await addPartition(cluster, identity, topic, 1);
        await end(cluster, identity, true);
        return (await addPartition(cluster, identity, topic)) === "concurrentTransactions";
      });
      const { topics } = await cluster.ask(0, "addPartitionsToTxn1", {
        ...identity,
        topics: [{ topic, partitions: [0, 7] }],
      });
      return {
        refused: "concurrentTransactions",
        // Kafka has them in an order of its own.
        partly: Object.fromEntries(
          topics.flatMap(({ partitions }) =>
            partitions.map(({ partition, error }) => [partition, nameError(error)]),
          ),
        ),
      };
    },
  },
  {
    name: "offsets that a transaction commits",
    async play(cluster) {
      const topic = cluster.name("events");
      const groupId = cluster.name("router");
      await cluster.createTopic(topic, 1);
      const identity = await initialise(cluster, cluster.name("id"));
      const early = await commitOffsets(cluster, identity, groupId, topic, 1);
      const states: unknown[] = [];
      const look = async (): Promise<void> => {
        states.push([
          await fetchOffset(cluster, { groupId }, topic),
          await fetchOffset(cluster, { groupId }, topic, true),
        ]);
      };
      const settle = (): Promise<void> =>
        cluster.until("the offsets are stable", async () => {
          const { found } = await fetchOffset(cluster, { groupId }, topic, true);
          return found?.[0] === "none";
        });
      const results: unknown[] = [];
      for (const [offset, commit] of [
        [3, true],
        [5, false],
        [7, true],
      ] as const) {
        await cluster.until(
          "a transaction begins",
          async () => (await addOffsets(cluster, identity, groupId)) === "none",
        );
        await look();
        results.push(await commitOffsets(cluster, identity, groupId, topic, offset));
        await look();
        results.push(await end(cluster, identity, commit));
        await settle();
        await look();
      }
      const late = await commitOffsets(cluster, identity, groupId, topic, 9);
      return { early, states, results, late };
    },
  },
];
