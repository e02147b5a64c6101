import { createLogger } from "@topicsync/lib/logger";
import { type PositionStep, getHeaderText, type LogRecord, type OutgoingRecord } from "@topicsync/kafka";
import { createAnnouncementHandler, type AnnouncementBatch } from "../../consumers/announcements/handler.ts";
import { noTrace } from "../../consumers/batch-trace.ts";
import { createFeedbackHandler, type FeedbackBatch } from "../../consumers/push-feedback/handler.ts";
import {
  createFeedbackService,
  type FeedbackStore,
  type DecodedReport,
} from "../../src/installations/feedback.ts";
import type { Catalog } from "../../src/installations/catalog-cache.ts";
import type { Announcement } from "../../src/topics/announcement.ts";
import type { Decision } from "../../src/topics/decide.ts";
import { createTopicService, type TopicService } from "../../src/topics/service.ts";
import type { TopicWrites } from "../../src/topics/snapshot.ts";
import type { TopicStore } from "../../src/topics/stores.ts";

const log = await createLogger("silent");

/** A dead letter that was sent. */
interface SentLetter {
  readonly offset: number;
  readonly code: string;
}

export interface AnnouncementStep extends PositionStep {
  readonly store: TopicStore;
  readonly topics?: Pick<TopicService, "decide" | "decideAhead">;
  readonly announcements: readonly Announcement[];
  /** Called with what was written. */
  readonly changed?: (writes: TopicWrites) => void | Promise<void>;
  /** What was decided ahead. */
  readonly ahead?: Decision | undefined;
  readonly onLetter?: (letter: SentLetter) => void;
}

/** Applies decoded announcements as the consumer does. Returns the decision that was stored. */
export async function applyAnnouncements(step: AnnouncementStep): Promise<Decision> {
  const { key, from, to, store, topics = createTopicService(store), announcements, ahead } = step;
  const changing: Promise<void>[] = [];
  const handler = createAnnouncementHandler(key, {
    groupId: key.group,
    topics,
    store,
    deadLetters: createMemoryProducer(step.onLetter),
    applied({ decision }) {
      changing.push(Promise.resolve(step.changed?.(decision.writes)));
    },
    tracing: undefined,
    log,
  });
  const records = announcements.map(toRecord);
  const { epoch } = to;
  const batch: AnnouncementBatch = { records, decoded: announcements, epoch, trace: noTrace, ahead };
  const decision = await handler.write(batch, { from, to }, () => undefined);
  handler.report(batch, decision, 0);
  await Promise.all(changing);
  return decision;
}

export interface FeedbackStep extends PositionStep {
  readonly store: FeedbackStore;
  readonly catalog: Catalog;
  readonly reports: readonly DecodedReport[];
  readonly onLetter?: (letter: SentLetter) => void;
}

/** Applies decoded push feedback as the consumer does. */
export async function applyFeedback(step: FeedbackStep): Promise<void> {
  const { key, from, to, store, catalog, reports } = step;
  const handler = createFeedbackHandler(key, {
    groupId: key.group,
    feedback: createFeedbackService(store, catalog),
    store,
    deadLetters: createMemoryProducer(step.onLetter),
    applied: () => undefined,
    tracing: undefined,
    log,
  });
  const batch: FeedbackBatch = {
    records: reports.map(toRecord),
    decoded: reports,
    epoch: to.epoch,
    trace: noTrace,
    ahead: undefined,
  };
  await handler.write(batch, { from, to }, () => undefined);
}

const toRecord = ({ offset }: { readonly offset: number }): LogRecord => ({
  offset,
  timestamp: "0",
  key: null,
  value: null,
  headers: [],
});

const createMemoryProducer = (onLetter: (letter: SentLetter) => void = () => undefined) => ({
  send(records: readonly OutgoingRecord[]) {
    for (const { headers } of records) {
      const offset = Number(getHeaderText(headers, "__connect.errors.offset"));
      onLetter({ offset, code: String(getHeaderText(headers, "topicsync.code")) });
    }
    return Promise.resolve(records.map((_, offset) => ({ partition: 0, offset })));
  },
});
