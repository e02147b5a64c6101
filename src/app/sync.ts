import { createAnnouncementHandler } from "../../consumers/announcements/handler.ts";
import { createGroupConsumer, type GroupConsumer } from "../../consumers/group-consumer.ts";
import { createFeedbackHandler } from "../../consumers/push-feedback/handler.ts";
import type { SyncStatus } from "../../schemas/sync-status.ts";
import type { ConsumerChannel, KafkaConfig } from "../kafka-config.ts";
import { auditFeedback, createFeedbackService } from "../installations/feedback.ts";
import type { Broker } from "../kafka/client.ts";
import type { Audit } from "../lib/audit.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/logger.ts";
import type { Database } from "../storage/database.ts";
import { createLogStore } from "../storage/logs.ts";
import { createFeedbackStore } from "../storage/push-feedback.ts";
import type { WatchedLog } from "../sync/partition-status.ts";
import { createStatus, type WatchedRouter } from "../sync/status.ts";
import { createFeedbackTally, createTally, type FeedbackTally, type Tally } from "../sync/tally.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { Metrics } from "./metrics.ts";
import type { Services } from "./services.ts";

export interface SyncOptions extends Pick<Services, "topics" | "topicStore" | "catalog"> {
  readonly database: Database;
  readonly broker: Broker;
  /** Undefined when no events are forwarded. */
  readonly router: WatchedRouter | undefined;
  readonly audit: Audit;
  readonly metrics: Metrics;
  readonly lifecycle: Lifecycle;
  /** Undefined: nothing is traced. */
  readonly tracing: Tracing | undefined;
  readonly log: Logger;
  /** Called when a consumer ended and cannot be restarted. */
  readonly onDied: (error: unknown) => void;
}

export interface Sync {
  /** By the name of their readiness check; not started yet. */
  readonly consumers: Readonly<Record<string, GroupConsumer>>;
  readonly getSyncStatus: () => Promise<SyncStatus>;
}

interface WiredConsumer {
  readonly consumer: GroupConsumer;
  readonly watched: WatchedLog;
}

/** Wires the consumers of announcements and, where configured, of push feedback. */
export function createSync(config: KafkaConfig, options: SyncOptions): Sync {
  const tally = createTally();
  const feedbackTally = createFeedbackTally();
  const announcements = createAnnouncementConsumer(config, tally, options);
  const pushFeedback =
    config.pushFeedback && createFeedbackConsumer(config.pushFeedback, feedbackTally, options);
  return {
    consumers: {
      consumer: announcements.consumer,
      ...(pushFeedback && { pushFeedback: pushFeedback.consumer }),
    },
    getSyncStatus: createStatus({
      announcements: announcements.watched,
      pushFeedback: pushFeedback?.watched,
      tally,
      feedbackTally,
      router: options.router,
    }),
  };
}

function createAnnouncementConsumer(
  { announcementsTopic: topic, deadLetterTopic, groupId }: KafkaConfig,
  tally: Tally,
  options: SyncOptions,
): WiredConsumer {
  const { database, broker, topics, topicStore, metrics, lifecycle, tracing, onDied } = options;
  const log = options.log.child({ component: "announcements" });
  const deadLetters = broker.createProducer(deadLetterTopic);
  lifecycle.onStop("dead letters", () => deadLetters.close());
  const consumer = createGroupConsumer({
    member: broker.createMember({ topic, groupId, commitsOffsets: true }),
    watch: broker.watch(topic),
    logs: createLogStore(database),
    createHandler: (partition) =>
      createAnnouncementHandler(partition, {
        groupId,
        topics,
        store: topicStore,
        deadLetters,
        applied(batch) {
          tally.add(batch);
          metrics.recordAnnouncements(batch);
        },
        tracing,
        log,
      }),
    log,
    onDied,
  });
  lifecycle.onStop("consumer", () => consumer.stop());
  return {
    consumer,
    watched: {
      group: groupId,
      topic,
      observer: broker.observe({ topic, groupId }),
      store: topicStore,
      consumer: () => consumer.status(),
    },
  };
}

function createFeedbackConsumer(
  { topic, deadLetterTopic, groupId }: ConsumerChannel,
  tally: FeedbackTally,
  options: SyncOptions,
): WiredConsumer {
  const { database, broker, catalog, audit, metrics, lifecycle, tracing, onDied } = options;
  const log = options.log.child({ component: "push-feedback" });
  const store = createFeedbackStore(database, log);
  const feedback = createFeedbackService(store, catalog);
  const deadLetters = broker.createProducer(deadLetterTopic);
  lifecycle.onStop("push feedback dead letters", () => deadLetters.close());
  const consumer = createGroupConsumer({
    member: broker.createMember({ topic, groupId, commitsOffsets: true }),
    watch: broker.watch(topic),
    logs: createLogStore(database),
    createHandler: (partition) =>
      createFeedbackHandler(partition, {
        groupId,
        feedback,
        store,
        deadLetters,
        applied(decision) {
          tally.add(decision);
          metrics.recordFeedback(decision);
          auditFeedback(audit, decision, topic);
        },
        tracing,
        log,
      }),
    log,
    onDied,
  });
  lifecycle.onStop("push feedback", () => consumer.stop());
  return {
    consumer,
    watched: {
      group: groupId,
      topic,
      observer: broker.observe({ topic, groupId }),
      store,
      consumer: () => consumer.status(),
    },
  };
}
