import { createGroupConsumer, type GroupConsumer } from "../../consumers/group-consumer.ts";
import { createFeedbackHandler } from "../../consumers/push-feedback/handler.ts";
import type { ConsumerChannel } from "../config.ts";
import type { Catalog } from "../installations/catalog-cache.ts";
import { createFeedbackService, type FeedbackDecision } from "../installations/feedback.ts";
import type { Broker } from "../kafka/client.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/logger.ts";
import type { Database } from "../storage/database.ts";
import { createFeedbackStore } from "../storage/push-feedback.ts";
import type { WatchedLog } from "../sync/partition-status.ts";
import type { Tracing } from "../tracing/tracing.ts";

export interface FeedbackNeeds {
  readonly database: Database;
  readonly broker: Broker;
  readonly catalog: Catalog;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  /** Told of each batch once it is stored. */
  readonly applied: (decision: FeedbackDecision) => void;
  readonly tracing: Tracing | undefined;
  readonly died: (error: unknown) => void;
}

/** The consumer of the push feedback, and its place in the log. */
export interface PushFeedback {
  readonly consumer: GroupConsumer;
  readonly watched: WatchedLog;
}

/** Wires what reads push feedback; nothing is read before the consumer is started. */
export function createPushFeedback(channel: ConsumerChannel, needs: FeedbackNeeds): PushFeedback {
  const { database, broker, catalog, lifecycle, applied, tracing, died } = needs;
  const { topic, groupId } = channel;
  const log = needs.log.child({ consumer: "push feedback" });
  const store = createFeedbackStore(database, log);
  const feedback = createFeedbackService(store, catalog);
  const deadLetters = broker.producer(channel.deadLetterTopic);
  lifecycle.onStop("dead letters of the push feedback", () => deadLetters.close());
  const consumer = createGroupConsumer({
    member: broker.member(channel),
    watch: broker.watch(topic),
    createHandler: (partition) =>
      createFeedbackHandler(partition, {
        groupId,
        feedback,
        store,
        deadLetters,
        applied,
        tracing,
        log,
      }),
    log,
    died,
  });
  lifecycle.onStop("push feedback", () => consumer.stop());
  return {
    consumer,
    watched: {
      group: groupId,
      topic,
      observer: broker.observe(channel),
      store,
      consumer: () => consumer.status(),
    },
  };
}
