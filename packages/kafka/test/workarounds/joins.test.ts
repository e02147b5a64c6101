import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { correctJoins } from "../../workarounds/members.ts";
import { loadPrivate } from "../../workarounds/patch.ts";

interface ConsumerGroup {
  generationId: number;
  memberId: string | null;
  joinAndSync(): Promise<void>;
  heartbeat(options: object): Promise<void>;
}

const lost = Object.assign(new Error("Closed connection"), { name: "KafkaJSConnectionClosedError" });

/** A member that joins generation 7, and loses the response with its partitions. */
function createMember(onJoined = (): void => undefined): ConsumerGroup {
  const Group = loadPrivate("consumer/consumerGroup.js") as new (options: object) => ConsumerGroup;
  const coordinator = {
    joinGroup() {
      onJoined();
      const rest = { leaderId: "other", memberId: "member", members: [], groupProtocol: "" };
      return Promise.resolve({ generationId: 7, ...rest });
    },
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

/** How often a member joins that two brokers tell to. */
async function countJoins(): Promise<number> {
  let joins = 0;
  const member = createMember(() => {
    joins += 1;
  });
  await Promise.allSettled([member.joinAndSync(), member.joinAndSync()]);
  return joins;
}

describe("a member that joins its group", () => {
  it("has no generation once it lost its partitions, and joins once for several brokers", async () => {
    const stock = createMember();
    await assert.rejects(stock.joinAndSync());
    assert.equal(stock.generationId, 7, "kafkajs no longer needs it for lost partitions");
    assert.equal(await countJoins(), 2, "kafkajs no longer needs it for several brokers");
    await createMember().heartbeat({ interval: 0 });

    correctJoins();
    const member = createMember();
    await assert.rejects(member.joinAndSync());
    assert.equal(member.generationId, -1);
    assert.equal(await countJoins(), 1);
  });

  it("is told to join again when it has no id", async () => {
    const member = createMember();
    assert.equal(member.memberId, null);
    await assert.rejects(member.heartbeat({ interval: 0 }), { type: "UNKNOWN_MEMBER_ID" });
    // It has none while it joins.
    const join = member.joinAndSync();
    await member.heartbeat({ interval: 0 });
    await assert.rejects(join);
  });

  it("joins again later", async () => {
    const member = createMember();
    for (const attempt of [1, 2]) {
      member.generationId = attempt;
      await assert.rejects(member.joinAndSync());
      assert.equal(member.generationId, -1);
    }
  });
});
