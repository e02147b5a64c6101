import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import { sharedStack } from "../../support/stack.ts";
import { startTwoBrokers } from "../../support/two-brokers.ts";

const { first, second, addresses } = await startTwoBrokers({ isReplicated: true, hasRacks: true });
const { admin, scene } = stage({ ...sharedStack(), kafka: addresses });

describe("an instance with a rack", () => {
  it("reads from the nearest replica, and from the leader while that one does not respond", async () => {
    const at = scene({ KAFKA_RACK: "rack-2", LOG_LEVEL: "debug" });
    const replicaAssignment = [{ partition: 0, replicas: [first.id, second.id] }];
    await createKafkaTopics(admin, { topic: at.topic, replicaAssignment });
    const service = await at.start();
    await at.announce(0, 1_000);
    await at.inStep();
    const follows = (node: number) =>
      service.log.some(({ msg }) => msg === `kafkajs: Preferred read replica is now ${node}`);
    await until("the follower is preferred", () => Promise.resolve(follows(second.id)));
    await at.announce(1_000, 2_000);
    await at.inStep();

    second.freeze();
    try {
      await at.announce(2_000, 3_000);
      await at.inStep(60_000);
    } finally {
      second.thaw();
    }
    await at.announce(3_000, 4_000);
    await at.inStep();
    assert.equal(await service.stop(), 0);
  });
});
