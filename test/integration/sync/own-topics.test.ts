import assert from "node:assert/strict";
import { describe, it } from "node:test";

import kafkajs from "kafkajs";

import { hasSingleReplica } from "../../../src/kafka/admin/topics.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { stage } from "../../support/scene.ts";
import { startTopicsync } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const { admin, scene } = stage(sharedStack());

/** The topic's own values for these settings, not the broker's defaults. */
async function readOwn(topic: string, configNames: string[]): Promise<Record<string, string>> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames }],
  });
  const entries = resources
    .flatMap(({ configEntries }) => configEntries)
    .filter(({ isDefault }) => !isDefault);
  return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
}

const lossWarnings = /not compacted|does not keep all records|single replica/;

describe("the service's own Kafka topics", () => {
  it("are created so that the broker's defaults delete nothing from them", async () => {
    const { settings, topic, deadLetterTopic } = scene();
    const feedback = `${topic}.feedback`;
    const service = await startTopicsync({ ...settings, KAFKA_PUSH_FEEDBACK_TOPIC: feedback });
    await service.ready();
    const forDeadLetters = {
      "cleanup.policy": "delete",
      "retention.ms": "-1",
      "retention.bytes": "-1",
      "max.message.bytes": "2097152",
    };
    const forAnnouncements = { "cleanup.policy": "compact", "delete.retention.ms": "2592000000" };
    for (const [name, wanted] of [
      [topic, forAnnouncements],
      [deadLetterTopic, forDeadLetters],
      [`${feedback}.dead-letter`, forDeadLetters],
    ] as const)
      assert.deepEqual(await readOwn(name, Object.keys(wanted)), wanted);
    assert.ok(!service.log.some(({ msg }) => lossWarnings.test(String(msg))));
    assert.equal(await service.stop(), 0);
  });

  it("are left as they are where they exist, with a warning for what they lose", async () => {
    const { settings, topic, deadLetterTopic } = scene();
    const configEntries = [{ name: "retention.ms", value: "604800000" }];
    await createKafkaTopics(
      admin,
      { topic, numPartitions: 1 },
      { topic: deadLetterTopic, numPartitions: 1, configEntries },
    );
    const service = await startTopicsync(settings);
    await service.ready();
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

  it("have a single replica too few where there are brokers for more", () => {
    const one = [{ replicas: [1] }];
    const two = [{ replicas: [1, 2] }];
    assert.ok(!hasSingleReplica(one, 1));
    assert.ok(hasSingleReplica(one, 3));
    assert.ok(hasSingleReplica([...two, ...one], 2));
    assert.ok(!hasSingleReplica(two, 3));
  });
});
