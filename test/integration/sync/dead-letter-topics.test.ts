import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { createBroker, type Broker } from "@topicsync/kafka/client";
import { createLogger } from "@topicsync/lib/logger";
import { readConfig } from "../../../src/config/config.ts";
import { identifyTopic } from "../../../consumers/announcements/decode.ts";
import { parseDeadLetter, type DeadLetter } from "../../../src/dead-letters/dead-letter.ts";
import { definition, stage } from "../../support/scene.ts";

const dayMs = 86_400_000;
const { stack, producer, scene } = stage();
let broker: Broker;
before(async () => {
  broker = createBroker({ ...readConfig({}).kafka, brokers: [stack.kafka] }, await createLogger("silent"));
  await broker.reach(new AbortController().signal);
});
after(() => broker.close());

async function readDeadLetters(topic: string): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for await (const placed of broker.read(topic, { abort: new AbortController().signal }))
    letters.push(parseDeadLetter(topic, placed, { identify: identifyTopic, proofKey: "any" }));
  return letters;
}

const good = definition("good");

/** The announcements topic accepts any timestamp. */
const anyTimestamp = { "message.timestamp.after.max.ms": String(Number.MAX_SAFE_INTEGER) };

describe("a dead-letter topic that accepts less than the announcements topic", () => {
  it("receives a dead letter whose timestamp it rejects without that timestamp, and the sync continues", async () => {
    const at = scene();
    await at.createTopic(1, anyTimestamp);
    await at.createDeadLetterTopic({ "message.timestamp.after.max.ms": "1000" });
    const tomorrow = Date.now() + dayMs;
    await producer.send({
      topic: at.topic,
      messages: [
        { key: "future", value: "not json", timestamp: String(tomorrow) },
        { key: "past", value: "not json either", timestamp: String(tomorrow - 2 * dayMs) },
        { key: good.externalId, value: JSON.stringify(good) },
      ],
    });
    const service = await at.start();
    await at.reached(3);
    assert.equal(await at.count(), 1);
    const letters = await readDeadLetters(at.deadLetterTopic);
    assert.deepEqual(
      letters.map(({ id, time, key, value }) => [id, time?.getTime(), String(key), String(value)]).toSorted(),
      [
        [`${at.topic}-0-0`, tomorrow, "future", "not json"],
        [`${at.topic}-0-1`, tomorrow - 2 * dayMs, "past", "not json either"],
      ],
    );
    assert.equal(await service.stop(), 0);
  });

  it("receives a dead letter without a key under its id if it is compacted, and the sync continues", async () => {
    const at = scene();
    await at.createTopic(1, anyTimestamp);
    await at.createDeadLetterTopic({ "cleanup.policy": "compact" });
    const sentAt = Date.now() - dayMs;
    await producer.send({
      topic: at.topic,
      messages: [
        { key: null, value: "not json", timestamp: String(sentAt) },
        { key: good.externalId, value: JSON.stringify(good) },
      ],
    });
    const service = await at.start();
    await at.reached(2);
    assert.equal(await at.count(), 1);
    const [letter] = await readDeadLetters(at.deadLetterTopic);
    assert.equal(letter?.id, `${at.topic}-0-0`);
    assert.deepEqual([letter.key, String(letter.value), letter.time?.getTime()], [null, "not json", sentAt]);
    assert.equal(await service.stop(), 0);
  });
});
