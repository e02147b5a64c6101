import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import type { Position } from "@topicsync/kafka";
import { createDeadLetterHandler } from "../../../consumers/dead-letters/handler.ts";
import { createDeadLetterProgress } from "../../../src/dead-letters/progress.ts";
import { createDeadLetterReader, createDeadLetterStore } from "../../../src/storage/dead-letters.ts";
import { connectBroker } from "../../support/broker.ts";
import { connectDatabase } from "../../support/database.ts";
import { deadLetterMessage, proofKey, proveOne } from "../../support/dead-letters.ts";
import { createKafkaTopics, deleteRecordsBefore, recreateKafkaTopic } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { stage } from "../../support/scene.ts";

const { kafka, admin, producer } = stage();
const broker = await connectBroker();
const { database, log } = await connectDatabase();

/** A dead-letter topic with one partition, its progress, and a reader that stores what it is told to. */
async function createScene(exists = true) {
  const [topic, groupId] = [unique("dead-letter"), unique("group")];
  if (exists) await createKafkaTopics(admin, { topic, numPartitions: 1 });
  const store = createDeadLetterStore(database, log);
  const letters = createDeadLetterReader(database, topic);
  const watch = broker.watch(topic);
  const abort = new AbortController();
  const progress = createDeadLetterProgress({
    topic,
    groupId,
    kafka: broker,
    watch,
    positions: store,
    letters,
    abort: abort.signal,
  });
  const send = (...offsets: number[]) =>
    producer.send({
      topic,
      messages: offsets.map((offset) =>
        proveOne(proofKey, topic, deadLetterMessage({ topic: "source", partition: 0, offset })),
      ),
    });
  const partition = { topic, partition: 0 };
  const handler = createDeadLetterHandler(partition, {
    groupId,
    store,
    identify: () => undefined,
    getProofKey: () => Promise.resolve(proofKey),
    findNamespace: () => undefined,
    log,
  });
  let stored: Position | undefined;

  /** Stores the records of the topic up to this offset; `readEarlier` are records that are gone since. */
  async function storeUpTo(offset: number, readEarlier?: Awaited<ReturnType<typeof broker.fetchRecords>>) {
    const { topicId } = await watch.fetchLog(0);
    const epoch =
      stored === undefined || stored.topicId === topicId ? (stored?.epoch ?? 1) : stored.epoch + 1;
    const from = stored?.topicId === topicId ? (stored?.offset ?? 0) : 0;
    const fetched = readEarlier ?? (await broker.fetchRecords(topic, { partition: 0, offset: from }));
    const records = fetched.filter((record) => record.offset >= from && record.offset < offset);
    await handler.claim();
    const to = { offset, epoch, topicId };
    await handler.write(handler.prepare(records, epoch), { from: stored, to }, () => undefined);
    stored = to;
  }

  async function list(): Promise<number[]> {
    const found: number[] = [];
    for await (const batch of letters.stream({ namespaces: "all" }, { batchSize: 100, limit: 100 }))
      found.unshift(...batch.toReversed().map(({ id }) => Number(id.slice("source-0-".length))));
    return found;
  }

  return { topic, progress, abort, send, storeUpTo, list };
}

describe("waiting for dead letters", () => {
  it("ends at once if all are stored, or the topic is empty or missing", async () => {
    const { progress, send, storeUpTo } = await createScene();
    const never = () => Promise.reject(new Error("it waits"));
    assert.equal(await progress.waitUntilStored(Infinity, never), 0);
    await send(1, 2);
    await storeUpTo(2);
    assert.equal(await progress.waitUntilStored(Infinity, never), 0);
    const missing = await createScene(false);
    assert.equal(await missing.progress.waitUntilStored(Infinity, never), 0);
  });

  it("ends when those are stored that the topic had at its beginning", async () => {
    const { progress, send, storeUpTo } = await createScene();
    await send(1, 2, 3);
    const seen: number[] = [];
    const left = await progress.waitUntilStored(Infinity, async (unread) => {
      seen.push(unread);
      await send(4);
      await storeUpTo(seen.length + 1);
    });
    assert.deepEqual([left, seen], [0, [3, 1]]);
  });

  it("returns how many are left when the time is over", async () => {
    const { progress, send, storeUpTo } = await createScene();
    await send(1, 2, 3);
    assert.equal(await progress.waitUntilStored(0), 3);
    await storeUpTo(2);
    assert.equal(await progress.waitUntilStored(0), 1);
  });

  it("counts everything again after the topic was deleted and created again", async () => {
    const { progress, send, storeUpTo, topic } = await createScene();
    await send(1, 2);
    await storeUpTo(2);
    await recreateKafkaTopic({ kafka, admin }, { topic, numPartitions: 1 });
    await send(3);
    assert.equal(await progress.waitUntilStored(0), 1);
  });

  it("ends with an error when it is stopped, and with that of its caller", async () => {
    const { progress, send, abort } = await createScene();
    await send(1);
    const stalled = () => Promise.reject(new Error("stalled"));
    await assert.rejects(progress.waitUntilStored(Infinity, stalled), /stalled/);
    abort.abort();
    await assert.rejects(progress.waitUntilStored(Infinity), UnavailableError);
  });
});

describe("dead letters that retention has deleted", () => {
  it("are removed, before waiting and on request", async () => {
    const { topic, progress, send, storeUpTo, list } = await createScene();
    await send(1, 2, 3);
    await storeUpTo(3);
    await progress.removeExpired();
    assert.deepEqual(await list(), [1, 2, 3]);
    await deleteRecordsBefore(admin, { topic, partition: 0, offset: 1 });
    await progress.removeExpired();
    assert.deepEqual(await list(), [2, 3]);
    await deleteRecordsBefore(admin, { topic, partition: 0, offset: 2 });
    await progress.waitUntilStored(0);
    assert.deepEqual(await list(), [3]);
  });

  it("are removed, too, if they are stored after they were deleted", async () => {
    const { topic, progress, send, storeUpTo, list } = await createScene();
    await send(1, 2, 3);
    const fetched = await broker.fetchRecords(topic, { partition: 0, offset: 0 });
    await storeUpTo(1, fetched);
    await deleteRecordsBefore(admin, { topic, partition: 0, offset: 2 });
    await progress.removeExpired();
    await storeUpTo(3, fetched);
    await progress.removeExpired();
    assert.deepEqual(await list(), [3]);
  });

  it("are those of the log that was read, whatever an earlier one had lost", async () => {
    const { topic, progress, send, storeUpTo, list } = await createScene();
    await send(1, 2, 3);
    await storeUpTo(3);
    await deleteRecordsBefore(admin, { topic, partition: 0, offset: 3 });
    await progress.removeExpired();
    assert.deepEqual(await list(), []);
    await recreateKafkaTopic({ kafka, admin }, { topic, numPartitions: 1 });
    await send(4, 5);
    await storeUpTo(2);
    await deleteRecordsBefore(admin, { topic, partition: 0, offset: 1 });
    await progress.removeExpired();
    assert.deepEqual(await list(), [5]);
  });
});
