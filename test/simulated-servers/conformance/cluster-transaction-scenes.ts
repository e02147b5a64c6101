/**
 * What the coordinator of transactions and the leaders answer to transactional producers, right ones and
 * wrong ones.
 */
import {
  append,
  describeTopic,
  fetchById,
  fetchByName,
  listOffset,
  nameError,
  tryLog,
  type ClusterScene,
} from "./cluster-under-test.ts";
import { fetchOffset } from "./group-requests.ts";
import {
  addOffsets,
  addPartition,
  commitOffsets,
  end,
  endCompleted,
  initialise,
  send,
  untilAdded,
  type Producer,
} from "./transaction-requests.ts";

const latest = -1;

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
        (await send(cluster, identity, { topic }, { firstSequence: 0, values: ["early"] })).error,
      ];
      await untilAdded(cluster, identity, topic);
      const sent = [
        await send(cluster, identity, { topic }, { firstSequence: 0, values: ["a", "b"] }),
        // Repeated, as after a lost response.
        await send(cluster, identity, { topic }, { firstSequence: 0, values: ["a", "b"] }),
        await send(cluster, identity, { topic }, { firstSequence: 4, values: ["gap"] }),
        await send(cluster, identity, { topic }, { firstSequence: 2, values: ["c"] }),
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
      await send(cluster, identity, { topic }, { firstSequence: 0, values: ["a"] });
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
      await send(cluster, former, { topic }, { firstSequence: 0, values: ["fenced"] });
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
          (await send(cluster, identity, { topic }, { firstSequence: 0, values: ["x"] })).error,
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
  {
    name: "a transaction that outlives its timeout",
    async play(cluster) {
      const topic = cluster.name("egress");
      const groupId = cluster.name("router");
      await cluster.createTopic(topic, 1);
      const next: Record<string, (producer: Producer) => Promise<unknown>> = {
        addPartition: (producer) => addPartition(cluster, producer, topic),
        addOffsets: (producer) => addOffsets(cluster, producer, groupId),
        commitOffsets: (producer) => commitOffsets(cluster, producer, groupId, topic, 2),
        send: async (producer) =>
          (await send(cluster, producer, { topic }, { firstSequence: 1, values: ["late"] })).error,
        commit: (producer) => end(cluster, producer, true),
        abort: (producer) => end(cluster, producer, false),
        initialise: async ({ transactionalId, producerId, producerEpoch }) => {
          const owner = await initialise(cluster, transactionalId);
          return [owner.producerEpoch - producerEpoch, owner.producerId === producerId];
        },
      };
      const names = Object.keys(next);
      const producers: Producer[] = [];
      for (const name of names)
        producers.push(await initialise(cluster, cluster.name(name), { timeoutMs: 20_000 }));
      const began: unknown[] = [];
      for (const producer of producers) {
        await untilAdded(cluster, producer, topic);
        began.push(
          await addOffsets(cluster, producer, groupId),
          await commitOffsets(cluster, producer, groupId, topic, 1),
          (await send(cluster, producer, { topic }, { firstSequence: 0, values: ["a"] })).error,
        );
      }
      await cluster.until("all have timed out", async () => {
        const last = await listOffset(cluster, { topic }, latest);
        const { found } = await fetchOffset(cluster, { groupId }, topic, true);
        return last?.offset === 2 * names.length && found?.[0] === "none";
      });
      const results: Record<string, unknown> = {};
      for (const [index, producer] of producers.entries()) {
        const name = names[index] ?? "";
        results[name] = [await next[name]?.(producer), await end(cluster, producer, true)];
      }
      return {
        began,
        results,
        offset: await fetchOffset(cluster, { groupId }, topic),
        log: (await fetchByName(cluster, { topic }))?.bounds,
      };
    },
  },
  {
    name: "a topic that is deleted during a transaction, while the leader does not hear of it",
    async play(cluster) {
      const topic = cluster.name("egress");
      await cluster.createTopic(topic, 2);
      const place = { broker: 1, topic, partition: 1 } as const;
      const { topicId } = await describeTopic(cluster, 1, topic);
      const identity = await initialise(cluster, cluster.name("id"));
      await cluster.until(
        "a transaction begins",
        async () => (await addPartition(cluster, identity, topic, 1)) === "none",
      );
      const sent = [await send(cluster, identity, place, { firstSequence: 0, values: ["a"] })];
      const during: unknown[] = [];
      const look = async (): Promise<void> => {
        during.push(
          (await describeTopic(cluster, 1, topic)).error,
          await fetchByName(cluster, place),
          (await fetchById(cluster, { ...place, topic: topicId }))?.bounds,
        );
      };
      await cluster.isolate(async () => {
        await cluster.deleteTopic(topic);
        const { error } = await describeTopic(cluster, 0, topic);
        sent.push(await send(cluster, identity, place, { firstSequence: 1, values: ["b"] }));
        await look();
        during.push(
          error,
          await append(cluster, place, "c"),
          await addPartition(cluster, identity, topic, 1),
          await end(cluster, identity, true),
          await endCompleted(cluster, identity, true),
        );
        await look();
      });
      await cluster.until(
        "the leader hears of it",
        async () => (await describeTopic(cluster, 1, topic)).error === "unknownTopicOrPartition",
      );
      return { sent, during, after: await tryLog(cluster, place, topicId) };
    },
  },
];
