import { getErrorMessage } from "../../src/lib/errors.ts";
import type { Logger } from "../../src/lib/logger.ts";
import { now } from "../../src/lib/platform.ts";
import type { PositionKey } from "../../src/sync/positions.ts";
import type { LogRecord, Partition, RecordProducer } from "../../src/sync/records.ts";
import type { AppliedBatch } from "../../src/sync/tally.ts";
import type { Announcement } from "../../src/topics/announcement.ts";
import type { Decision } from "../../src/topics/decide.ts";
import type { TopicService } from "../../src/topics/service.ts";
import { TopicGoneError, UniqueViolationError, type TopicStore } from "../../src/topics/stores.ts";
import type { Tracing } from "../../src/tracing/tracing.ts";
import { storeBatch, type BatchHandler, type Step } from "../batch.ts";
import { traceBatch, type BatchTrace } from "../batch-trace.ts";
import { sendRejected } from "../dead-letter-sender.ts";
import { decode } from "./decode.ts";

export interface AnnouncementOptions {
  readonly groupId: string;
  readonly topics: Pick<TopicService, "decide" | "decideAhead" | "publish">;
  readonly store: Pick<TopicStore, "claim" | "begin" | "getPrimary">;
  readonly deadLetters: Pick<RecordProducer, "send">;
  /** Called with each batch that is stored. */
  readonly applied: (batch: AppliedBatch) => void;
  readonly tracing: Tracing | undefined;
  readonly log: Logger;
}

/** A batch of decoded announcements. */
export interface AnnouncementBatch {
  readonly records: readonly LogRecord[];
  readonly announcements: readonly Announcement[];
  readonly epoch: number;
  readonly trace: BatchTrace;
  /** What was decided ahead; undefined for a batch that needs stored topics. */
  readonly ahead: Decision | undefined;
}

/** A batch may conflict with concurrent changes several times, but not forever. */
const maxAttempts = 10;

/**
 * Decode → decide → write → check the position → dead letters → commit, for one partition of the
 * announcements topic. Most batches are decided while the previous one is being written.
 */
export function createAnnouncementHandler(
  partition: Partition,
  { groupId, topics, store, deadLetters, applied, tracing, log }: AnnouncementOptions,
): BatchHandler<AnnouncementBatch, Decision> {
  const key: PositionKey = { group: groupId, ...partition };

  /** Decides and stores a batch, and decides it again on newer data after a conflict with stored topics. */
  async function apply(
    batch: AnnouncementBatch,
    { from, to }: Step,
    onAttempt: (decision: Decision) => void,
  ): Promise<Decision> {
    const { records, announcements, trace } = batch;
    let conflict: unknown;
    let ahead = batch.epoch === to.epoch ? batch.ahead : undefined;
    for (let conflicts = 0; conflicts < maxAttempts;) {
      trace.startStage("decide");
      const primary = ahead === undefined ? store.getPrimary() : undefined;
      const decision =
        ahead ?? (await topics.decide({ partition, epoch: to.epoch, announcements }, conflicts));
      onAttempt(decision);
      const { writes, rejections } = decision;
      const sendDeadLetters =
        rejections.length === 0
          ? undefined
          : () => sendRejected(deadLetters, { partition, epoch: to.epoch, records, rejected: rejections });
      try {
        await storeBatch(store, { key, from, to, primary }, { writes, sendDeadLetters, trace });
        return decision;
      } catch (error) {
        if (!(error instanceof UniqueViolationError || error instanceof TopicGoneError)) throw error;
        conflict = error;
      }
      // The previous batch may have shown how much has to be looked up since this one was decided ahead.
      if (ahead === undefined) conflicts += 1;
      ahead = undefined;
    }
    throw new Error(
      `the batch at offset ${from?.offset ?? 0} conflicted with stored topics ${maxAttempts} times: ${getErrorMessage(conflict)}`,
      { cause: conflict },
    );
  }

  return {
    claim: () => store.claim(key),
    prepare(records, epoch) {
      const trace = traceBatch(tracing, { partition, groupId, records });
      trace.startStage("decode");
      const announcements = records.map(decode);
      // In the trace, this counts as a part of decoding.
      const ahead = topics.decideAhead({ partition, epoch, announcements });
      trace.endStage();
      return { records, announcements, epoch, trace, ahead };
    },
    write: (batch, step, onAttempt) => batch.trace.run(() => apply(batch, step, onAttempt)),
    report({ records }, decision, tookMs) {
      if (decision === undefined) return;
      const { counts, rejections } = decision;
      topics.publish(decision);
      applied({
        counts,
        rejected: rejections.map(({ rejection }) => rejection.code),
        announcedOn: records.map(({ timestamp }) => Number(timestamp)),
        storedOn: now(),
        tookMs,
      });
      log.debug({ partition: partition.partition, ...counts }, "announcements applied");
    },
  };
}
