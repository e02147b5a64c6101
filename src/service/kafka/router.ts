import { type RouterConfig, choosePartition, type EgressNaming } from "@topicsync/kafka";
import { createEventHandler } from "../../../consumers/events/handler.ts";
import { createGroupConsumer } from "../../../consumers/group-consumer.ts";
import { createRouterTally } from "../../routing/tally.ts";
import { startUsageRecorder } from "../../routing/usage-recorder.ts";
import type { Context } from "../context.ts";

/** Wires the router, which forwards events to their topics. */
export function createEventRouter(config: RouterConfig, naming: EgressNaming, context: Context) {
  const { services, broker, audit, metrics, lifecycle, tracing, onDied } = context;
  const { topic, groupId, deadLetterTopic, unmatchedTopic, maxCopies } = config;
  const { topicIndex, logStore, getReplayKey } = services;
  const log = context.log.child({ component: "router" });
  const egressTopics = broker.createEgressTopics(config.createEgress, {
    maxTopics: config.maxCreatedEgress,
    onCreated(topics) {
      const origin = { via: "channel", by: groupId, from: topic } as const;
      audit.record({ action: "egress-topics.created", topics }, origin);
    },
  });
  const tally = createRouterTally();
  // Registered before the router, so that it stops after it, and after the index that it reads.
  const usage = startUsageRecorder({ index: topicIndex, usage: services.topicUsage, log });
  lifecycle.onStop("topic usage", () => usage.stop());
  const consumer = createGroupConsumer({
    // The offsets are committed in the transactions.
    member: broker.createMember({ topic, groupId, commitsOffsets: false }),
    watch: broker.watch(topic),
    logs: logStore,
    consumer: "events",
    createHandler: (partition) =>
      createEventHandler({
        partition,
        groupId,
        index: topicIndex,
        naming,
        transactions: broker.createTransactions({ partition, groupId }),
        egressTopics,
        deadLetterTopic,
        maxEventBytes: context.config.kafka.maxEventBytes,
        unmatchedTopic,
        maxCopies,
        getProofKey: getReplayKey,
        choosePartition,
        routed(batch) {
          tally.add(batch);
          metrics.recordEvents(batch);
        },
        tracing,
      }),
    log,
    onDied,
  });
  lifecycle.onStop("router", () => consumer.stop());
  return {
    /** Not started yet. */
    consumer,
    egressTopics,
    watched: {
      group: groupId,
      topic,
      observer: broker.observe({ topic, groupId }),
      store: {
        findPositions: (group: string, of: string) =>
          broker.fetchCommittedOffsets({ groupId: group, topic: of }),
      },
      consumer: () => consumer.status(),
    },
    tally,
    getIndex: topicIndex.status,
    countBackfills: () => services.backfillStore.countRunning(),
  };
}
