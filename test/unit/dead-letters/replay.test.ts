import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { connectDeadLetters, deadLetterMessage, prove } from "../../support/dead-letters.ts";
import { stage } from "../../support/scene.ts";

const { scene, admin, producer } = stage();
const { signal: never } = new AbortController();

interface DeadLetterAt {
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

/** Creates the topics and writes these dead letters, each with its offset as the value. */
async function prepare(t: TestContext, letters: readonly DeadLetterAt[], topicSettings: TopicSettings) {
  const own = scene();
  const { topic, deadLetterTopic } = own;
  const configEntries = [{ name: "cleanup.policy", value: topicSettings.cleanup }];
  await admin.createTopics({
    topics: [
      { topic, numPartitions: topicSettings.numPartitions, configEntries },
      { topic: deadLetterTopic, numPartitions: 2 },
    ],
  });
  for (const { from, offset, key, partition = 0 } of letters) {
    const more = { value: String(offset), partition, ...(key !== undefined && { key }) };
    const message = deadLetterMessage({ topic, partition: from, offset }, more);
    const messages = await prove(own.db, deadLetterTopic, [message]);
    await producer.send({ topic: deadLetterTopic, messages });
  }
  return { ...own, ...(await connectDeadLetters(t, own)) };
}

/** Replays all of these, and returns the records of the announcements topic. */
async function replay(t: TestContext, letters: readonly DeadLetterAt[], topicSettings: TopicSettings) {
  const { topic, db, broker, open, plan } = await prepare(t, letters, topicSettings);
  const result = await open().send(await plan());
  const sent: (readonly [partition: number, value: string])[] = [];
  for await (const { partition, record } of broker.read(topic, { abort: never }))
    sent.push([partition, String(record.value)]);
  return { topic, db, result, sent };
}

describe("a replay", () => {
  it("sends each dead letter to its partition, in offset order", async (t) => {
    const letters = [
      { from: 0, offset: 9 },
      { from: 1, offset: 4, partition: 1 },
      { from: 0, offset: 2, partition: 1 },
      { from: 1, offset: 3 },
      { from: 0, offset: 7 },
      { from: 0, offset: 10, partition: 1 },
    ];
    const { sent, result } = await replay(t, letters, { numPartitions: 2, cleanup: "delete" });
    assert.equal(result.sent.length, 6);
    const inPartition = (partition: number) =>
      sent.filter(([other]) => other === partition).map(([, value]) => value);
    assert.deepEqual(inPartition(0), ["2", "7", "9", "10"]);
    assert.deepEqual(inPartition(1), ["3", "4"]);
  });

  it("skips dead letters that another replay has begun to send", async (t) => {
    const letters = [1, 2, 3].map((offset) => ({ from: 0, offset }));
    const { topic, open, plan } = await prepare(t, letters, { numPartitions: 1, cleanup: "delete" });
    const [all, second] = [await plan(), await plan({ ids: [`${topic}-0-2`] })];
    assert.deepEqual((await open().send(second)).sent, [`${topic}-0-2`]);
    const { sent, skipped } = await open().send(all);
    assert.deepEqual(sent, [`${topic}-0-1`, `${topic}-0-3`]);
    assert.deepEqual(
      skipped.map(({ id, reason }) => [id, reason]),
      [[`${topic}-0-2`, "replayed"]],
    );
    assert.deepEqual((await plan()).send, []);
  });

  it("of one plan by two processes sends each dead letter once per attempt", async (t) => {
    const letters = Array.from({ length: 20 }, (_, offset) => ({ from: 0, offset }));
    const { open, plan } = await prepare(t, letters, { numPartitions: 1, cleanup: "delete" });
    for (const again of [false, true]) {
      const planned = await plan({ again, force: true });
      assert.equal(planned.send.length, 20);
      const results = await Promise.all([open().send(planned), open().send(planned)]);
      const sent = results.flatMap((result) => result.sent);
      const skipped = results.flatMap((result) => result.skipped);
      assert.deepEqual([sent.length, new Set(sent).size, skipped.length], [20, 20, 20]);
      assert.ok(skipped.every(({ reason }) => reason === "replayed"));
    }
  });

  it("reports dead letters that Kafka rejects, and sends and stores the others", async (t) => {
    const letters = [
      { from: 0, offset: 1, key: "a" },
      { from: 0, offset: 2 },
      { from: 0, offset: 3, key: "b" },
    ];
    const { topic, db, sent, result } = await replay(t, letters, { numPartitions: 1, cleanup: "compact" });
    assert.deepEqual(
      sent.map(([, value]) => value),
      ["1", "3"],
    );
    assert.deepEqual(
      result.skipped.map(({ id, reason }) => [id, reason]),
      [[`${topic}-0-2`, "rejected"]],
    );
    const replays = db.collection<{ letter: string; state: string; sent_to: { offset: number } }>(
      "topicsync_replays",
    );
    assert.deepEqual(
      (await replays.find({}).toArray()).map(({ letter, state, sent_to: to }) => [letter, state, to.offset]),
      [
        [`${topic}-0-1`, "sent", 0],
        [`${topic}-0-3`, "sent", 1],
      ],
    );
  });
});
