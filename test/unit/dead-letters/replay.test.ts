import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { identifyTopic } from "../../../consumers/announcements/decode.ts";
import { readConfig } from "../../../src/config.ts";
import { openDeadLetters } from "../../../src/dead-letters/browse.ts";
import { planReplay, type ReplayPlan } from "../../../src/dead-letters/plan.ts";
import { sendReplays } from "../../../src/dead-letters/replay.ts";
import { createTopicStates } from "../../../src/dead-letters/topic-states.ts";
import { createBroker } from "../../../src/kafka/client.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { createDatabase } from "../../../src/storage/database.ts";
import { createReplayStore } from "../../../src/storage/replays.ts";
import { createSyncState } from "../../../src/storage/sync-state.ts";
import { unique } from "../../support/names.ts";
import { sharedStack, testDatabase, testKafka } from "../../support/stack.ts";

const stack = sharedStack();
const { uri, db } = testDatabase(stack.mongodb);
const { admin, producer } = testKafka(stack.kafka);
const log = await createLogger("silent");
const broker = createBroker({ ...readConfig({}).kafka, brokers: [stack.kafka] }, log);
const database = createDatabase(uri, log);
const { signal: never } = new AbortController();

before(async () => {
  await Promise.all([admin.connect(), producer.connect(), broker.reach(never), database.connect(never)]);
});
after(() => Promise.all([broker.close(), database.close()]));

interface Sent {
  readonly from: number;
  readonly offset: number;
  readonly key?: string;
  /** The partition of the dead-letter topic. */
  readonly partition?: number;
}

interface TopicSettings {
  readonly numPartitions: number;
  readonly cleanup: string;
}

/** Lays these letters down, and gives what plans to replay all of them, and what carries a plan out. */
async function prepare(letters: readonly Sent[], topicSettings: TopicSettings) {
  const [topic, dead] = [unique("announcements"), unique("dead")];
  const configEntries = [{ name: "cleanup.policy", value: topicSettings.cleanup }];
  await admin.createTopics({
    topics: [
      { topic, numPartitions: topicSettings.numPartitions, configEntries },
      { topic: dead, numPartitions: 2 },
    ],
  });
  for (const { from, offset, key = null, partition = 0 } of letters) {
    const headers = {
      "__connect.errors.topic": topic,
      "__connect.errors.partition": String(from),
      "__connect.errors.offset": String(offset),
      "topicsync.id": `${topic}-${from}-${offset}`,
    };
    await producer.send({ topic: dead, messages: [{ key, value: `${offset}`, headers, partition }] });
  }
  const opened = await openDeadLetters(
    { topic: dead, identify: identifyTopic, read: () => broker.read(dead, { abort: never }) },
    { replays: createReplayStore(database), sync: createSyncState(database, "group") },
  );
  const to = { topic, partitions: topicSettings.numPartitions };
  const states = createTopicStates({ ...opened, reader: broker, topic, abort: never });
  const plan = () => planReplay({ ...opened, states }, to, { choice: {}, again: false, force: false });
  async function send(planned: ReplayPlan) {
    const producer = broker.producer(topic);
    const result = await sendReplays(planned, {
      ...opened,
      states,
      to,
      producer,
      now: () => new Date(),
      abort: never,
      progress: () => undefined,
    });
    await producer.close();
    return result;
  }
  return { topic, plan, send };
}

/** Replays all of these letters, and gives what then lies in the announcements topic. */
async function replay(letters: readonly Sent[], topicSettings: TopicSettings) {
  const { topic, plan, send } = await prepare(letters, topicSettings);
  const result = await send(await plan());
  const sent: (readonly [partition: number, value: string])[] = [];
  for await (const { partition, record } of broker.read(topic, { abort: never }))
    sent.push([partition, String(record.value)]);
  return { topic, result, sent };
}

describe("a replay", () => {
  it("sends each letter to its partition in the order of the offsets, however the letters lie", async () => {
    const letters = [
      { from: 0, offset: 9 },
      { from: 1, offset: 4, partition: 1 },
      { from: 0, offset: 2, partition: 1 },
      { from: 1, offset: 3 },
      { from: 0, offset: 7 },
      { from: 0, offset: 10, partition: 1 },
    ];
    const { sent, result } = await replay(letters, { numPartitions: 2, cleanup: "delete" });
    assert.equal(result.sent.length, 6);
    const valuesOf = (partition: number) => sent.filter(([of]) => of === partition).map(([, value]) => value);
    assert.deepEqual(valuesOf(0), ["2", "7", "9", "10"]);
    assert.deepEqual(valuesOf(1), ["3", "4"]);
  });

  it("sends none that somebody else began to send since it was planned", async () => {
    const { topic, plan, send } = await prepare(
      [1, 2, 3].map((offset) => ({ from: 0, offset })),
      {
        numPartitions: 1,
        cleanup: "delete",
      },
    );
    const [all, others] = [await plan(), await plan()];
    const first = await send({ ...others, send: others.send.filter(({ order }) => order.offset === 2) });
    assert.deepEqual(first.sent, [`${topic}-0-2`]);
    const { sent, refused } = await send(all);
    assert.deepEqual(sent, [`${topic}-0-1`, `${topic}-0-3`]);
    assert.deepEqual(
      refused.map(({ id, kind }) => [id, kind]),
      [[`${topic}-0-2`, "replayed"]],
    );
    assert.deepEqual((await plan()).send, []);
  });

  it("tells what Kafka does not take, sends the others, and remembers them alone", async () => {
    const letters = [
      { from: 0, offset: 1, key: "a" },
      { from: 0, offset: 2 },
      { from: 0, offset: 3, key: "b" },
    ];
    const { topic, sent, result } = await replay(letters, { numPartitions: 1, cleanup: "compact" });
    assert.deepEqual(
      sent.map(([, value]) => value),
      ["1", "3"],
    );
    assert.deepEqual(
      result.refused.map(({ id }) => id),
      [`${topic}-0-2`],
    );
    const remembered = await db
      .collection<{ _id: string; letter: string; state: string; sent_to: { offset: number } }>(
        "topicsync_replays",
      )
      .find({ "sent_to.topic": topic } as object)
      .toArray();
    assert.deepEqual(
      remembered.map(({ letter, state, sent_to: to }) => [letter, state, to.offset]),
      [
        [`${topic}-0-1`, "sent", 0],
        [`${topic}-0-3`, "sent", 1],
      ],
    );
  });
});
