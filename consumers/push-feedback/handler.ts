import type { FeedbackDecision, FeedbackService, ReadReport } from "../../src/installations/feedback.ts";
import type { Logger } from "../../src/lib/logger.ts";
import type { PositionKey, PositionStore } from "../../src/sync/positions.ts";
import type { LogRecord, RecordProducer, Partition } from "../../src/sync/records.ts";
import type { Tracing } from "../../src/tracing/tracing.ts";
import { traceBatch, type BatchTrace } from "../batch-trace.ts";
import { sendRefused } from "../dead-letter-sender.ts";
import { decodeReport } from "./decode.ts";
import type { BatchHandler } from "../partition-reader.ts";

export interface FeedbackOptions {
  readonly groupId: string;
  readonly feedback: FeedbackService;
  readonly positions: Pick<PositionStore, "claim">;
  readonly deadLetters: RecordProducer;
  /** Told of each batch once it is stored. */
  readonly applied: (decision: FeedbackDecision) => void;
  readonly tracing: Tracing | undefined;
  readonly log: Logger;
}

/** An update costs a store much more than an insertion, and whoever registers one of these tokens has to wait for it. */
const maxRecordsPerWrite = 500;

interface Prepared {
  readonly records: readonly LogRecord[];
  readonly reports: readonly ReadReport[];
  readonly trace: BatchTrace | undefined;
  /** What was decided last; undefined before `write`. */
  decision?: FeedbackDecision;
}

/** decode → validate → decide → deactivate → dead letters → commit, for one partition of the push feedback topic. */
export function createFeedbackHandler(
  partition: Partition,
  options: FeedbackOptions,
): BatchHandler<Prepared> {
  const { groupId, feedback, positions, deadLetters, tracing, log } = options;
  const key: PositionKey = { group: groupId, ...partition };

  return {
    maxRecordsPerWrite: maxRecordsPerWrite,
    claim: () => positions.claim(key),
    prepare(records) {
      const trace = traceBatch(tracing, { partition, groupId, records });
      trace?.entered("decode");
      const reports = records.map(decodeReport);
      trace?.waits();
      return { records, reports, trace };
    },
    async write(prepared, { from, to }) {
      const { records, reports, trace } = prepared;
      const apply = () =>
        feedback.apply({
          key,
          from,
          to,
          reports,
          decided: (decision) => (prepared.decision = decision),
          deadLetter: (refused) => sendRefused(deadLetters, { partition, epoch: to.epoch, records, refused }),
          entered: trace?.entered,
        });
      const decision = await (trace === undefined ? apply() : trace.through(apply));
      options.applied(decision);
      log.debug(
        { partition: partition.partition, ...decision.counts, nextOffset: to.offset },
        "applied push feedback",
      );
    },
    confirm({ decision }) {
      if (decision !== undefined) options.applied(decision);
    },
  };
}
