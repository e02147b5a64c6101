import type { Partition } from "@topicsync/kafka";
import type { DecodedReport, FeedbackDecision, FeedbackService } from "../../src/installations/feedback.ts";
import { createBatchHandler, type BatchOutputs, type DecodedBatch } from "../batch-handler.ts";
import type { BatchHandler } from "../batch.ts";
import { decodeReport } from "./decode.ts";

interface FeedbackOptions extends BatchOutputs<FeedbackDecision> {
  readonly feedback: FeedbackService;
}

export type FeedbackBatch = DecodedBatch<DecodedReport, FeedbackDecision>;

/** Updates cost a store much more than insertions, and registrations of these tokens wait for them. */
const maxRecordsPerWrite = 500;

export const createFeedbackHandler = (
  partition: Partition,
  { feedback, ...outputs }: FeedbackOptions,
): BatchHandler<FeedbackBatch, FeedbackDecision> =>
  createBatchHandler(
    partition,
    { maxRecordsPerWrite, decode: decodeReport, decide: (reports) => feedback.decide(reports) },
    outputs,
  );
