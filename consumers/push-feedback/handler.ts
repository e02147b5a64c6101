import type {
  FeedbackDecision,
  FeedbackService,
  FeedbackStore,
  DecodedReport,
} from "../../src/installations/feedback.ts";
import type { Logger } from "../../src/lib/logger.ts";
import type { PositionKey } from "../../src/sync/positions.ts";
import type { LogRecord, Partition, RecordProducer } from "../../src/sync/records.ts";
import type { Tracing } from "../../src/tracing/tracing.ts";
import { storeBatch, type BatchHandler, type Step } from "../batch.ts";
import { traceBatch, type BatchTrace } from "../batch-trace.ts";
import { sendRejected } from "../dead-letter-sender.ts";
import { decodeReport } from "./decode.ts";

export interface FeedbackOptions {
  readonly groupId: string;
  readonly feedback: FeedbackService;
  readonly store: Pick<FeedbackStore, "claim" | "begin" | "getPrimary">;
  readonly deadLetters: Pick<RecordProducer, "send">;
  /** Called with each decision that is stored. */
  readonly applied: (decision: FeedbackDecision) => void;
  readonly tracing: Tracing | undefined;
  readonly log: Logger;
}

/** Updates cost a store much more than insertions, and registrations of these tokens wait for them. */
const maxRecordsPerWrite = 500;

/** A batch of decoded reports. */
export interface FeedbackBatch {
  readonly records: readonly LogRecord[];
  readonly reports: readonly DecodedReport[];
  readonly trace: BatchTrace;
}

/** decode → decide → write → check the position → dead letters → commit, for one partition of the push feedback topic. */
export function createFeedbackHandler(
  partition: Partition,
  { groupId, feedback, store, deadLetters, applied, tracing, log }: FeedbackOptions,
): BatchHandler<FeedbackBatch, FeedbackDecision> {
  const key: PositionKey = { group: groupId, ...partition };

  async function apply(
    batch: FeedbackBatch,
    { from, to }: Step,
    onAttempt: (decision: FeedbackDecision) => void,
  ): Promise<FeedbackDecision> {
    const { records, reports, trace } = batch;
    trace.startStage("decide");
    const primary = store.getPrimary();
    const decision = await feedback.decide(reports);
    onAttempt(decision);
    const { deactivations: writes, rejections } = decision;
    const sendDeadLetters =
      rejections.length === 0
        ? undefined
        : () => sendRejected(deadLetters, { partition, epoch: to.epoch, records, rejected: rejections });
    await storeBatch(store, { key, from, to, primary }, { writes, sendDeadLetters, trace });
    return decision;
  }

  return {
    maxRecordsPerWrite,
    claim: () => store.claim(key),
    prepare(records) {
      const trace = traceBatch(tracing, { partition, groupId, records });
      trace.startStage("decode");
      const reports = records.map(decodeReport);
      trace.endStage();
      return { records, reports, trace };
    },
    write: (batch, step, onAttempt) => batch.trace.run(() => apply(batch, step, onAttempt)),
    report(_, decision) {
      if (decision === undefined) return;
      applied(decision);
      log.debug({ partition: partition.partition, ...decision.counts }, "push feedback applied");
    },
  };
}
