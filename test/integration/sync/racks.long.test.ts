import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { withCluster } from "../../support/kafkajs-cluster.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import { sharedStack } from "../../support/stack.ts";
import { startTwoBrokers } from "../../support/two-brokers.ts";

const { first, second, addresses } = await startTwoBrokers({ isReplicated: true, hasRacks: true });
const { kafka, admin, scene } = stage({ ...sharedStack(), kafka: addresses });

interface FetchTarget {
  fetch(request: object): Promise<{
    readonly responses: readonly {
      readonly partitions: readonly { readonly messages: readonly unknown[] }[];
    }[];
  }>;
}

describe("an instance with a rack", () => {
  it("reads from the nearest replica, and from the leader while that one does not respond", async () => {
    const at = scene({ KAFKA_RACK: "rack-2", LOG_LEVEL: "debug" });
    const replicaAssignment = [{ partition: 0, replicas: [first.id, second.id] }];
    await createKafkaTopics(admin, { topic: at.topic, replicaAssignment });
    const service = await at.start();
    await at.announce(0, 300);
    await at.inStep();
    const follows = (node: number) =>
      service.log.some(({ msg }) => msg === `kafkajs: Preferred read replica is now ${node}`);
    await until("the follower is preferred", () => Promise.resolve(follows(second.id)));
    await at.announce(300, 600);
    await at.inStep();

    const beyond = { topic: at.topic, partitions: [{ partition: 0, fetchOffset: "9000", maxBytes: 1 }] };
    const count = async (nodeId: number): Promise<number | undefined> =>
      withCluster(kafka, async (cluster) => {
        await cluster.refreshMetadata();
        const broker = (await cluster.findBroker({ nodeId })) as unknown as FetchTarget;
        const limits = { maxWaitTime: 1, minBytes: 1, maxBytes: 1, isolationLevel: 1 };
        const { responses } = await broker.fetch({ ...limits, rackId: "rack-2", topics: [beyond] });
        return responses[0]?.partitions[0]?.messages.length;
      });
    assert.equal(await count(first.id), 1, "the leader reports that the offset is out of range");
    assert.equal(await count(second.id), 0, "the follower may not have it yet");

    second.freeze();
    try {
      await at.announce(600, 900);
      await at.inStep();
    } finally {
      second.thaw();
    }
    await at.announce(900, 1_200);
    await at.inStep();
    assert.equal(await service.stop(), 0);
  });
});
