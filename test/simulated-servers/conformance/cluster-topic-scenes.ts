/**
 * What brokers answer about topics and logs that change: grown, replaced and deleted topics, moved leaders,
 * bounds that move.
 */
import { createBatch } from "../wire/batches.ts";
import {
  append,
  createRecords,
  describeTopic,
  fetchById,
  fetchByName,
  listOffset,
  nameError,
  produce,
  startOfTime,
  tryLog,
  type ClusterScene,
  type Settings,
} from "./cluster-under-test.ts";
import { commitOffset } from "./group-requests.ts";

const earliest = -2;
const latest = -1;

const unknownId = "_".repeat(21) + "w";

export const topicScenes: readonly ClusterScene[] = [
  {
    name: "a topic that gets more partitions",
    async play(cluster) {
      const topic = cluster.name("grown");
      await cluster.createTopic(topic, 1);
      const first = { topic, partition: 0 } as const;
      await append(cluster, first, "a");
      const before = await describeTopic(cluster, 0, topic);
      const missing = await tryLog(cluster, { broker: 1, topic, partition: 1 }, before.topicId);
      await cluster.grow(topic, 3);
      const after = [await describeTopic(cluster, 0, topic), await describeTopic(cluster, 1, topic)];
      await append(cluster, { broker: 1, topic, partition: 1 }, "b", "c");
      return {
        missing,
        counts: [before, ...after].map(({ partitions }) => partitions.map(({ leader }) => leader)),
        keepsId: after.every(({ topicId }) => topicId === before.topicId),
        kept: await fetchByName(cluster, first),
        added: await fetchByName(cluster, { broker: 1, topic, partition: 1 }),
        empty: await fetchByName(cluster, { topic, partition: 2 }),
        bounds: [await listOffset(cluster, { topic, partition: 2 }, latest)],
      };
    },
  },
  {
    name: "a topic that is deleted and created again",
    async play(cluster) {
      const topic = cluster.name("replaced");
      await cluster.createTopic(topic, 1);
      await append(cluster, { topic }, "a", "b", "c");
      const { topicId: oldId } = await describeTopic(cluster, 0, topic);
      await cluster.deleteTopic(topic);
      const between = {
        described: (await describeTopic(cluster, 0, topic)).error,
        requests: await tryLog(cluster, { topic }, oldId),
      };
      await cluster.createTopic(topic, 1);
      const { topicId } = await describeTopic(cluster, 0, topic);
      await append(cluster, { topic }, "d");
      return {
        between,
        isSame: topicId === oldId,
        byOldId: await fetchById(cluster, { topic: oldId }),
        byNewId: await fetchById(cluster, { topic: topicId }),
        elsewhere: await fetchById(cluster, { broker: 1, topic: topicId }),
        byName: [
          await fetchByName(cluster, { topic }),
          // A reader that does not notice goes on at its position in the former log.
          await fetchByName(cluster, { topic }, { from: 1 }),
          await fetchByName(cluster, { topic }, { from: 3 }),
        ],
        unknown: await tryLog(cluster, { topic: `${topic}-never` }, unknownId),
      };
    },
  },
  {
    name: "a leader that moves to a broker that had no copy",
    async play(cluster) {
      const topic = cluster.name("moved");
      await cluster.createTopic(topic, 1);
      await append(cluster, { topic }, "a", "b");
      const before = await describeTopic(cluster, 0, topic);
      const { topicId } = before;
      const elsewhere = await tryLog(cluster, { broker: 1, topic }, topicId);
      await cluster.moveLeader(topic, 0, 1);
      const after = await describeTopic(cluster, 1, topic);
      return {
        elsewhere,
        keepsId: after.topicId === topicId,
        hasLaterEpoch: Number(after.partitions[0]?.leaderEpoch) > Number(before.partitions[0]?.leaderEpoch),
        former: await tryLog(cluster, { broker: 0, topic }, topicId),
        leader: await tryLog(cluster, { broker: 1, topic }, topicId),
        log: await fetchByName(cluster, { broker: 1, topic }),
      };
    },
  },
  {
    name: "a broker that has a copy and does not lead",
    async play(cluster) {
      const topic = cluster.name("copied");
      await cluster.createTopic(topic, 1);
      await append(cluster, { topic }, "a", "b");
      await cluster.addCopy(topic, 0);
      const { topicId } = await describeTopic(cluster, 0, topic);
      const copy = { broker: 1, topic } as const;
      await cluster.until(
        "the copy serves all records",
        async () => (await fetchByName(cluster, copy))?.bounds.at(-1) === 2,
      );
      return {
        requests: await tryLog(cluster, copy, topicId),
        read: await fetchById(cluster, { broker: 1, topic: topicId }),
        outside: await fetchByName(cluster, copy, { from: 3 }),
      };
    },
  },
  {
    name: "a log whose beginning is deleted",
    async play(cluster) {
      const topic = cluster.name("cut");
      await cluster.createTopic(topic, 1);
      for (const value of ["a", "b", "c", "d"]) await append(cluster, { topic }, value);
      await cluster.deleteBefore(topic, 0, 2);
      const fetches: unknown[] = [];
      for (const from of [-5, 0, 1, 2, 3, 4, 5, 99])
        fetches.push(await fetchByName(cluster, { topic }, { from }));
      return {
        fetches,
        listed: [
          await listOffset(cluster, { topic }, earliest),
          await listOffset(cluster, { topic }, latest),
          await listOffset(cluster, { topic }, startOfTime),
        ],
        appended: await append(cluster, { topic }, "e"),
      };
    },
  },
  {
    name: "offsets by time",
    async play(cluster) {
      const topic = cluster.name("times");
      await cluster.createTopic(topic, 1);
      for (const at of [5, 2, 9])
        await produce(cluster, { topic }, createBatch(createRecords(["x"], { at })));
      const found: unknown[] = [];
      for (const at of [0, 2, 5, 6, 9, 10])
        found.push(await listOffset(cluster, { topic }, startOfTime + at));
      return { found, empty: await listOffset(cluster, { topic: `${topic}-never` }, startOfTime) };
    },
  },
  {
    name: "records that a topic rejects",
    async play(cluster) {
      const small = cluster.name("small");
      const compacted = cluster.name("compacted");
      const dated = cluster.name("dated");
      await cluster.createTopic(small, 1, { "max.message.bytes": "500" });
      await cluster.createTopic(compacted, 1, { "cleanup.policy": "compact" });
      await cluster.createTopic(dated, 1, { "message.timestamp.before.max.ms": "3600000" });
      const segmented = cluster.name("segmented");
      await cluster.createTopic(segmented, 1, {
        "segment.bytes": String(2 ** 20),
        "max.message.bytes": String(2 ** 21),
      });
      const corrupt = createBatch(createRecords(["a"]));
      corrupt.writeUInt8(corrupt.readUInt8(corrupt.length - 1) ^ 1, corrupt.length - 1);
      return {
        large: await append(cluster, { topic: small }, "x".repeat(600)),
        together: await append(cluster, { topic: small }, "x".repeat(300), "y".repeat(300)),
        fitting: await append(cluster, { topic: small }, "x".repeat(300)),
        largerThanSegment: await append(cluster, { topic: segmented }, "x".repeat(2 ** 20)),
        withoutKey: await append(cluster, { topic: compacted }, "a"),
        withKey: await produce(
          cluster,
          { topic: compacted },
          createBatch(createRecords(["a"], { key: "k" })),
        ),
        old: await append(cluster, { topic: dated }, "a"),
        corrupt: await produce(cluster, { topic: compacted }, corrupt),
      };
    },
  },
  {
    name: "topics that cannot be created",
    async play(cluster) {
      const topic = cluster.name("created");
      await cluster.createTopic(topic, 1);
      const dotted = cluster.name("with_mark");
      await cluster.createTopic(dotted, 1);
      const create = async (name: string, partitions = 1, replicationFactor = 1, configs: Settings = {}) => {
        const entries = Object.entries(configs).map(([key, value]) => ({ name: key, value }));
        const { topics } = await cluster.ask(0, "createTopics3", {
          topics: [{ topic: name, partitions, replicationFactor, assignments: [], configs: entries }],
          timeout: 5_000,
          validateOnly: false,
        });
        return nameError(topics[0]?.error ?? -1);
      };
      return {
        same: await create(topic),
        colliding: await create(dotted.replace("_", ".")),
        empty: await create(""),
        dot: await create(".."),
        invalid: await create(`${topic}/x`),
        long: await create("x".repeat(250)),
        longest: await create(cluster.name("x".repeat(200))),
        noPartitions: await create(`${topic}-0`, 0),
        negative: await create(`${topic}-2`, -2),
        replication: await create(`${topic}-3`, 1, 3),
        noReplicas: await create(`${topic}-4`, 1, 0),
        unknownSetting: await create(`${topic}-6`, 1, 1, { "no.such.setting": "1" }),
        byDefault: await create(`${topic}-5`, -1, -1),
        described: [
          (await describeTopic(cluster, 0, `${topic}/x`)).error,
          (await describeTopic(cluster, 0, "x".repeat(250))).error,
        ],
      };
    },
  },
  {
    name: "older versions of requests",
    async play(cluster) {
      const topic = cluster.name("versions");
      await cluster.createTopic(topic, 1, { "retention.ms": "86400000" });
      const query = { topics: [topic, `${topic}-never`], allowAutoTopicCreation: false };
      const described: unknown[] = [];
      for (const name of ["metadata5", "metadata6"] as const) {
        const { topics } = await cluster.ask(0, name, query);
        const found = topics.map(({ error, isInternal, partitions }) => [
          nameError(error),
          isInternal,
          partitions.map((one) => [nameError(one.error), one.partition, cluster.toIndex(one.leader)]),
        ]);
        described.push(found.toSorted());
      }
      const { resources } = await cluster.ask(0, "describeConfigs2", {
        resources: [{ type: 2, name: topic, names: ["retention.ms"] }],
        includeSynonyms: false,
      });
      const groupId = cluster.name("reader");
      await commitOffset(cluster, { groupId }, topic, { offset: 3 });
      const offsets = await cluster.ask(0, "offsetFetch4", {
        groupId,
        topics: [{ topic, partitions: [0] }],
      });
      const { error, versions } = await cluster.ask(0, "apiVersions2", {});
      return {
        described,
        settings: resources.map((one) => [
          nameError(one.error),
          one.type,
          one.entries.map(({ name, value, isReadOnly, isSensitive }) => [
            name,
            value,
            isReadOnly,
            isSensitive,
          ]),
        ]),
        offsets: [
          nameError(offsets.error),
          offsets.topics.map(({ partitions }) =>
            partitions.map((one) => [nameError(one.error), one.offset, one.metadata]),
          ),
        ],
        canFetchById: [nameError(error), Number(versions.find(({ key }) => key === 1)?.max) >= 13],
      };
    },
  },
];
