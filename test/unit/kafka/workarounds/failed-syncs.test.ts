import assert from "node:assert/strict";
import { it } from "node:test";

import { rejoinAfterFailedSyncs } from "../../../../src/kafka/workarounds/failed-syncs.ts";
import { loadPrivate } from "../../../../src/kafka/workarounds/patch.ts";

interface ConsumerGroup {
  generationId: number;
  joinAndSync(): Promise<void>;
}

const lost = Object.assign(new Error("Closed connection"), { name: "KafkaJSConnectionClosedError" });

/** A member that joins generation 7, and loses the response with its partitions. */
function createMember(): ConsumerGroup {
  const Group = loadPrivate("consumer/consumerGroup.js") as new (options: object) => ConsumerGroup;
  const coordinator = {
    joinGroup: () =>
      Promise.resolve({
        generationId: 7,
        leaderId: "other",
        memberId: "member",
        members: [],
        groupProtocol: "",
      }),
    syncGroup: () => Promise.reject(lost),
  };
  const logger = { namespace: () => logger, debug: () => undefined, error: () => undefined };
  return new Group({
    retry: { retries: 0 },
    cluster: {
      findGroupCoordinator: () => Promise.resolve(coordinator),
      findTopicPartitionMetadata: () => [],
    },
    groupId: "group",
    topics: [],
    topicConfigurations: {},
    logger,
    instrumentationEmitter: { emit: () => undefined },
    assigners: [],
  });
}

it("leaves no generation to a member that lost its partitions", async () => {
  const stock = createMember();
  await assert.rejects(stock.joinAndSync());
  assert.equal(stock.generationId, 7, "kafkajs no longer needs rejoinAfterFailedSyncs");

  rejoinAfterFailedSyncs();
  const member = createMember();
  await assert.rejects(member.joinAndSync());
  assert.equal(member.generationId, -1);
});
