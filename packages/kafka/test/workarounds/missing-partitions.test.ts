import assert from "node:assert/strict";
import { it } from "node:test";

import { rejoinWithoutPartitions } from "../../workarounds/members.ts";
import { loadPrivate } from "../../workarounds/patch.ts";

interface OffsetManager {
  resolveOffsets(): Promise<void>;
}

/**
 * The offsets of a member with a partition that nothing was committed for, and whose bounds no broker tells.
 */
function createOffsets(existing: readonly number[] = [0]): OffsetManager {
  const Manager = loadPrivate("consumer/offsetManager/index.js") as new (options: object) => OffsetManager;
  const coordinator = {
    offsetFetch: () =>
      Promise.resolve({
        responses: [{ topic: "events", partitions: [{ partition: 1, offset: "-1" }] }],
      }),
  };
  return new Manager({
    cluster: {
      findGroupCoordinator: () => Promise.resolve(coordinator),
      committedOffsets: () => ({}),
      fetchTopicsOffset: () => Promise.resolve([]),
      findTopicPartitionMetadata: () => existing.map((partitionId) => ({ partitionId })),
    },
    coordinator,
    memberAssignment: { events: [1] },
    topicConfigurations: { events: {} },
    groupId: "group",
  });
}

it("lets a member join again that was given a partition that is gone", async () => {
  await assert.rejects(createOffsets().resolveOffsets(), TypeError, "kafkajs no longer needs it");

  rejoinWithoutPartitions();
  await assert.rejects(createOffsets().resolveOffsets(), {
    name: "KafkaJSError",
    retriable: true,
  });
  // A fault of the program.
  await assert.rejects(createOffsets([0, 1]).resolveOffsets(), TypeError);
});
