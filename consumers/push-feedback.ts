import type { FeedbackDecision, FeedbackService, ReadReport } from "../src/installations/feedback.ts";
import type { Logger } from "../src/logger.ts";
import type { PositionKey, PositionStore } from "../src/positions.ts";
import type { LogRecord, RecordSink } from "../src/records.ts";
import type { Partition } from "../src/topics/topic.ts";
import { sendRefused } from "./dead-letters.ts";
import { decodeReport } from "./feedback-report.ts";
import type { PartitionWork } from "./partition-reader.ts";

export interface FeedbackOptions {
  readonly groupId: string;
  readonly feedback: FeedbackService;
  readonly positions: Pick<PositionStore, "claim">;
  readonly deadLetters: RecordSink;
  /** Told of each batch once it is stored. */
  readonly applied: (decision: FeedbackDecision) => void;
  readonly log: Logger;
}

/** An update costs a store much more than an insertion, and whoever registers one of these tokens has to wait for it. */
const mostRecordsAWrite = 500;

interface Prepared {
  readonly records: readonly LogRecord[];
  readonly reports: readonly ReadReport[];
}

/** decode → validate → decide → deactivate → dead letters → commit, for one partition of the push feedback topic. */
export function feedbackWork(partition: Partition, options: FeedbackOptions): PartitionWork<Prepared> {
  const { groupId, feedback, positions, deadLetters, log } = options;
  const key: PositionKey = { group: groupId, ...partition };

  return {
    mostRecordsAWrite,
    claim: () => positions.claim(key),
    prepare: (records) => ({ records, reports: records.map(decodeReport) }),
    async write({ records, reports }, { from, to }) {
      const decision = await feedback.apply({
        key,
        from,
        to,
        reports,
        deadLetter: (refused) => sendRefused(deadLetters, { partition, records, refused }),
      });
      options.applied(decision);
      log.debug(
        { partition: partition.partition, ...decision.counts, nextOffset: to.offset },
        "applied push feedback",
      );
    },
  };
}
