import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { LogReader } from "@topicsync/kafka";
import { readDeadLetters, type WantedDeadLetter } from "../../../src/dead-letters/records.ts";
import { connectBroker } from "../../support/broker.ts";
import { deadLetterMessage, proofKey, proveOne } from "../../support/dead-letters.ts";
import { createKafkaTopics, deleteRecordsBefore } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";

const { kafka, admin, producer } = stage();
const broker = await connectBroker();

/** A dead-letter topic; `send` writes dead letters of these offsets of the topic "source". */
async function createTopic(numPartitions = 1) {
  const topic = unique("dead-letter");
  await createKafkaTopics(admin, { topic, numPartitions });
  const toMessages = (offsets: readonly number[], more?: Parameters<typeof deadLetterMessage>[1]) =>
    offsets.map((offset) =>
      proveOne(proofKey, topic, deadLetterMessage({ topic: "source", partition: 0, offset }, more)),
    );
  return {
    topic,
    toMessages,
    send: (offsets: readonly number[], more?: Parameters<typeof deadLetterMessage>[1]) =>
      producer.send({ topic, messages: toMessages(offsets, more) }),
  };
}

const want = (source: number, offset: number, partition = 0, bytes = 1_000): WantedDeadLetter => ({
  id: `source-0-${source}`,
  position: { partition, offset },
  bytes,
});

/** What was read of each: its value, or "missing". */
async function read(topic: string, wanted: readonly WantedDeadLetter[], reader: FetchRecords = broker) {
  const found: string[] = [];
  const options = { deadLetterTopic: topic, kafka: reader, identify: () => undefined, proofKey };
  for await (const [one, letter] of readDeadLetters(wanted, options)) {
    assert.equal(one, wanted[found.length]);
    found.push(letter === undefined ? "missing" : String(letter.value));
  }
  return found;
}

type FetchRecords = Pick<LogReader, "fetchRecords">;

/** Counts what is fetched from the broker. */
function countFetches() {
  const counting = {
    count: 0,
    fetchRecords: (...from: Parameters<LogReader["fetchRecords"]>) => {
      counting.count += 1;
      return broker.fetchRecords(...from);
    },
  };
  return counting;
}

describe("whole dead letters", () => {
  it("are returned in the requested order, from several partitions, with few fetches", async () => {
    const { topic, send } = await createTopic(2);
    for (const partition of [0, 1])
      for (const offset of [1, 2, 3]) await send([offset], { partition, value: `${partition}:${offset}` });
    const reader = countFetches();
    const wanted = [want(3, 2), want(1, 0, 1), want(1, 0), want(3, 2, 1), want(1, 0)];
    assert.deepEqual(await read(topic, wanted, reader), ["0:3", "1:1", "0:1", "1:3", "0:1"]);
    assert.equal(reader.count, 2);
  });

  it("are fetched a few MB at a time", async () => {
    const { topic, send } = await createTopic();
    const value = "x".repeat(900_000);
    const offsets = Array.from({ length: 8 }, (_, i) => i);
    for (const offset of offsets) await send([offset], { value: `${offset}${value}` });
    const reader = countFetches();
    const wanted = offsets.map((offset) => want(offset, offset, 0, value.length));
    let seen = 0;
    const options = { deadLetterTopic: topic, kafka: reader, identify: () => undefined, proofKey };
    for await (const [, letter] of readDeadLetters(wanted, options)) {
      assert.equal(String(letter?.value).slice(0, 2), `${seen}x`);
      seen += 1;
      if (seen === 1) assert.ok(reader.count <= 4, `${reader.count} fetches before the first`);
    }
    assert.equal(seen, 8);
  });

  it("are missing if retention has deleted them", async () => {
    const { topic, send } = await createTopic();
    await send([1, 2, 3]);
    await deleteRecordsBefore(admin, { topic, partition: 0, offset: 2 });
    assert.deepEqual(await read(topic, [want(1, 0), want(2, 1), want(3, 2)]), [
      "missing",
      "missing",
      "no JSON",
    ]);
  });

  it("are missing if the log has nothing, or something else, at their position", async () => {
    const { topic, send, toMessages } = await createTopic();
    const transactional = kafka.producer({ transactionalId: unique("transaction"), idempotent: true });
    await transactional.connect();
    const transaction = await transactional.transaction();
    await transaction.send({ topic, messages: toMessages([1]) });
    await transaction.abort();
    await transactional.disconnect();
    // The broker acknowledges the end of a transaction before it writes the marker.
    await until("the marker is written", async () => {
      return (await broker.fetchBounds(topic))?.get(0)?.high === 2;
    });
    await send([2]);
    assert.deepEqual(await read(topic, [want(1, 0), want(2, 2), want(9, 2), want(3, 3)]), [
      "missing",
      "no JSON",
      "missing",
      "missing",
    ]);
  });
});
