import assert from "node:assert/strict";
import { describe, it } from "node:test";

import kafkajs from "kafkajs";

import { findDurabilityFaults } from "@topicsync/kafka/internals";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { stage } from "../../support/scene.ts";

const { admin, scene } = stage();

/** The values of these settings that are set for the topic; defaults of the broker are left out. */
async function readOwnConfig(topic: string, configNames: string[]): Promise<Record<string, string>> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames }],
  });
  const entries = resources
    .flatMap(({ configEntries }) => configEntries)
    .filter(({ isDefault }) => !isDefault);
  return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
}

const lossWarnings = /not compacted|does not keep all records|lose acknowledged/;

describe("the service's own Kafka topics", () => {
  it("are created with settings that keep all records, regardless of the broker's defaults", async () => {
    const { start, topic, deadLetterTopic } = scene();
    const feedback = `${topic}.feedback`;
    const service = await start({ KAFKA_PUSH_FEEDBACK_TOPIC: feedback });
    const forDeadLetters = {
      "cleanup.policy": "delete",
      "retention.ms": "-1",
      "retention.bytes": "-1",
      "max.message.bytes": "2097152",
    };
    const forAnnouncements = { "cleanup.policy": "compact", "delete.retention.ms": "2592000000" };
    for (const [name, expected] of [
      [topic, forAnnouncements],
      [deadLetterTopic, forDeadLetters],
      [`${feedback}.dead-letter`, forDeadLetters],
    ] as const)
      assert.deepEqual(await readOwnConfig(name, Object.keys(expected)), expected);
    assert.ok(!service.log.some(({ msg }) => lossWarnings.test(String(msg))));
    assert.equal(await service.stop(), 0);
  });

  it("are not changed if they exist, and the service warns if they lose records", async () => {
    const { start, topic, deadLetterTopic, createTopic, createDeadLetterTopic } = scene();
    await createTopic();
    await createDeadLetterTopic({ "retention.ms": "604800000" });
    const service = await start();
    const warnings = service.log.filter(({ msg }) => lossWarnings.test(String(msg)));
    assert.deepEqual(
      warnings.map(({ msg, ...fields }) => [
        fields["topic"],
        fields["cleanup.policy"],
        fields["retention.ms"],
        msg,
      ]),
      [
        [
          topic,
          "delete",
          undefined,
          "announcements topic not compacted: Kafka deletes old definitions, so an empty database cannot be refilled",
        ],
        [deadLetterTopic, undefined, "604800000", "dead-letter topic does not keep all records"],
      ],
    );
    assert.equal(await service.stop(), 0);
  });

  it("may keep the dead letters of events for a limited time", async () => {
    const { start, topic } = scene();
    const events = `${topic}.events`;
    const settings = { KAFKA_EVENTS_TOPIC: events };
    await createKafkaTopics(admin, {
      topic: `${events}.dead-letter`,
      numPartitions: 1,
      configEntries: [{ name: "retention.ms", value: "604800000" }],
    });
    const service = await start(settings);
    assert.deepEqual(
      service.log.filter(({ msg }) => lossWarnings.test(String(msg))),
      [],
    );
    assert.equal(await service.stop(), 0);
  });

  it("lose nothing only with enough replicas, if there are enough brokers", () => {
    const find = (brokers: number, replicas: number, minInSync = 2, isUnclean = false) =>
      findDurabilityFaults("t", {
        brokers,
        replicas,
        settings: {
          "min.insync.replicas": String(minInSync),
          "unclean.leader.election.enable": String(isUnclean),
        },
      }).map(({ setting, value }) => `${setting}=${value}`);
    assert.deepEqual(find(3, 3), []);
    assert.deepEqual(find(6, 1, 1), ["replicas=1"]);
    assert.deepEqual(find(3, 3, 1, true), ["min.insync.replicas=1", "unclean.leader.election.enable=true"]);
    // These clusters cannot do better.
    assert.deepEqual([...find(1, 1, 1, true), ...find(2, 2, 1)], []);
    assert.deepEqual(find(2, 1, 1), ["replicas=1"]);
    // Settings are unknown without the right.
    assert.deepEqual(findDurabilityFaults("t", { brokers: 3, replicas: 3 }), []);
  });

  it("are created on a single broker with one line about it, which is no warning", async () => {
    const { start } = scene();
    const service = await start();
    const lines = service.log.filter(({ msg }) => /fewer than three brokers/.test(String(msg)));
    assert.deepEqual(
      lines.map(({ level, brokers }) => ({ level, brokers })),
      [{ level: 30, brokers: 1 }],
    );
  });
});
