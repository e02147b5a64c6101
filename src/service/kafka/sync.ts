import type { ConsumerChannel, BatchStore, Partition } from "@topicsync/kafka";
import type { Logger } from "@topicsync/lib/logger";
import {
  createAnnouncementHandler,
  type AnnouncementBatch,
} from "../../../consumers/announcements/handler.ts";
import type { BatchDecision, BatchOutputs } from "../../../consumers/batch-handler.ts";
import type { BatchHandler, PreparedBatch } from "../../../consumers/batch.ts";
import { createGroupConsumer, type GroupConsumer } from "../../../consumers/group-consumer.ts";
import { createFeedbackHandler, type FeedbackBatch } from "../../../consumers/push-feedback/handler.ts";
import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { proveDeadLetters } from "../../dead-letters/proof.ts";
import { auditFeedback, feedbackOutcomes, type FeedbackDecision } from "../../installations/feedback.ts";
import type { WatchedLog } from "../../../consumers/partition-status.ts";
import { createStatus, type WatchedRouter } from "./sync-status.ts";
import { createTally } from "./sync-tally.ts";
import { announcementOutcomes, type Decision } from "../../topics/decide.ts";
import type { Context } from "../context.ts";

export interface Sync {
  /** By the name of their readiness check; not started yet. */
  readonly consumers: Readonly<Record<string, GroupConsumer>>;
  readonly getSyncStatus: () => Promise<SyncStatus>;
}

interface WiredConsumer {
  readonly consumer: GroupConsumer;
  readonly watched: WatchedLog;
}

/** What differs between the consumers. */
interface ConsumerParts<Prepared extends PreparedBatch, Decision extends BatchDecision> {
  readonly component: string;
  /** What the lifecycle calls the consumer and its producer of dead letters. */
  readonly names: { readonly consumer: string; readonly deadLetters: string };
  readonly store: BatchStore<Decision["writes"]>;
  readonly applied: BatchOutputs<Decision>["applied"];
  readonly createHandler: (
    partition: Partition,
    outputs: BatchOutputs<Decision>,
  ) => BatchHandler<Prepared, Decision>;
}

/** Wires the consumers of announcements and, where configured, of push feedback. */
export function createSync(context: Context, router: WatchedRouter | undefined): Sync {
  const { services, audit, metrics, onTopicsChanged } = context;
  const log = context.log.child({ component: "announcements" });
  const { announcementsTopic, deadLetterTopic, groupId, pushFeedback } = context.config.kafka;
  const tally = createTally(announcementOutcomes);
  const feedbackTally = createTally(feedbackOutcomes);

  const channel = { topic: announcementsTopic, deadLetterTopic, groupId };
  const announcements = createConsumer<AnnouncementBatch, Decision>(channel, context, {
    component: "announcements",
    names: { consumer: "consumer", deadLetters: "dead letters" },
    store: services.topicStore,
    createHandler: (partition, outputs) =>
      createAnnouncementHandler(partition, { ...outputs, topics: services.topics }),
    applied(batch) {
      void onTopicsChanged(batch.decision.writes);
      logUnknown(batch.decision.unknown, log);
      tally.add(batch.decision);
      metrics.recordAnnouncements(batch);
    },
  });

  function createFeedbackConsumer(channel: ConsumerChannel): WiredConsumer {
    return createConsumer<FeedbackBatch, FeedbackDecision>(channel, context, {
      component: "push-feedback",
      names: { consumer: "push feedback", deadLetters: "push feedback dead letters" },
      store: services.feedbackStore,
      createHandler: (partition, outputs) =>
        createFeedbackHandler(partition, { ...outputs, feedback: services.feedback }),
      applied({ decision }) {
        feedbackTally.add(decision);
        metrics.recordFeedback(decision);
        auditFeedback(audit, decision, channel.topic);
      },
    });
  }
  const feedback = pushFeedback && createFeedbackConsumer(pushFeedback);

  return {
    consumers: {
      consumer: announcements.consumer,
      ...(feedback && { pushFeedback: feedback.consumer }),
    },
    getSyncStatus: createStatus({
      announcements: announcements.watched,
      pushFeedback: feedback?.watched,
      tally,
      feedbackTally,
      router,
    }),
  };
}

const maxLogged = 10;

/** Each retirement of a topic is repeated when the log is read again, so this is no warning. */
function logUnknown(externalIds: readonly string[], log: Logger): void {
  if (externalIds.length === 0) return;
  const fields = { count: externalIds.length, externalIds: externalIds.slice(0, maxLogged) };
  log.debug(fields, "tombstones without a topic");
}

function createConsumer<Prepared extends PreparedBatch, Decision extends BatchDecision>(
  { topic, deadLetterTopic, groupId }: ConsumerChannel,
  context: Context,
  { component, names, store, applied, createHandler }: ConsumerParts<Prepared, Decision>,
): WiredConsumer {
  const { services, broker, lifecycle, tracing, onDied } = context;
  const log = context.log.child({ component });
  const deadLetters = broker.createProducer(deadLetterTopic);
  lifecycle.onStop(names.deadLetters, () => deadLetters.close());
  const proven = proveDeadLetters(deadLetters, {
    topic: deadLetterTopic,
    getProofKey: services.getReplayKey,
  });
  const outputs = { groupId, store, deadLetters: proven, applied, tracing, log };
  const consumer = createGroupConsumer({
    member: broker.createMember({ topic, groupId, commitsOffsets: true }),
    watch: broker.watch(topic),
    logs: services.logStore,
    consumer: component,
    createHandler: (partition) => createHandler(partition, outputs),
    log,
    onDied,
  });
  lifecycle.onStop(names.consumer, () => consumer.stop());
  const observer = broker.observe({ topic, groupId });
  return {
    consumer,
    watched: { group: groupId, topic, observer, store, consumer: () => consumer.status() },
  };
}
