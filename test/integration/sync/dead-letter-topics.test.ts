import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { readConfig } from "../../../src/config.ts";
import { identifyTopic } from "../../../consumers/announcements/decode.ts";
import { parseDeadLetter, type DeadLetter } from "../../../src/dead-letters/dead-letter.ts";
import { createBroker, type Broker } from "../../../src/kafka/client.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { definition, stage, type Scene } from "../../support/scene.ts";
import { startTopicsync } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const dayMs = 86_400_000;
const stack = sharedStack();
const { admin, producer, scene } = stage(stack);
let broker: Broker;
before(async () => {
  broker = createBroker({ ...readConfig({}).kafka, brokers: [stack.kafka] }, await createLogger("silent"));
  await broker.reach(new AbortController().signal);
});
after(() => broker.close());

/** Creates both Kafka topics, with these settings of the dead-letter topic. */
const makeBoth = async (
  { topic, deadLetterTopic }: Scene,
  settings: Record<string, string>,
): Promise<void> => {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await createKafkaTopics(
    admin,
    {
      topic,
      numPartitions: 1,
      configEntries: [{ name: "message.timestamp.after.max.ms", value: String(Number.MAX_SAFE_INTEGER) }],
    },
    { topic: deadLetterTopic, numPartitions: 1, configEntries },
  );
};

async function lettersIn(topic: string): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for await (const placed of broker.read(topic, { abort: new AbortController().signal }))
    letters.push(parseDeadLetter(topic, placed, identifyTopic));
  return letters;
}

const good = definition("good");

describe("a dead-letter topic that accepts less than the announcements topic", () => {
  it("gets a letter with a timestamp that it rejects without that timestamp, and the sync goes on", async () => {
    const at = scene();
    await makeBoth(at, { "message.timestamp.after.max.ms": "1000" });
    const tomorrow = Date.now() + dayMs;
    await producer.send({
      topic: at.topic,
      messages: [
        { key: "future", value: "not json", timestamp: String(tomorrow) },
        { key: "past", value: "not json either", timestamp: String(tomorrow - 2 * dayMs) },
        { key: good.externalId, value: JSON.stringify(good) },
      ],
    });
    const service = await startTopicsync(at.settings);
    await at.reached(3);
    assert.equal(await at.count(), 1);
    const letters = await lettersIn(at.deadLetterTopic);
    assert.deepEqual(
      letters.map(({ id, time, key, value }) => [id, time?.getTime(), String(key), String(value)]).toSorted(),
      [
        [`${at.topic}-0-0`, tomorrow, "future", "not json"],
        [`${at.topic}-0-1`, tomorrow - 2 * dayMs, "past", "not json either"],
      ],
    );
    assert.equal(await service.stop(), 0);
  });

  it("gets a letter without a key under its id when it is compacted, and the sync goes on", async () => {
    const at = scene();
    await makeBoth(at, { "cleanup.policy": "compact" });
    const sentAt = Date.now() - dayMs;
    await producer.send({
      topic: at.topic,
      messages: [
        { key: null, value: "not json", timestamp: String(sentAt) },
        { key: good.externalId, value: JSON.stringify(good) },
      ],
    });
    const service = await startTopicsync(at.settings);
    await at.reached(2);
    assert.equal(await at.count(), 1);
    const [letter] = await lettersIn(at.deadLetterTopic);
    assert.equal(letter?.id, `${at.topic}-0-0`);
    assert.deepEqual([letter.key, String(letter.value), letter.time?.getTime()], [null, "not json", sentAt]);
    assert.equal(await service.stop(), 0);
  });
});
