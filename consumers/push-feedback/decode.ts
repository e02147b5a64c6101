import { RejectionError, formatFaults, type Fault } from "@topicsync/lib/errors";
import { toTime } from "@topicsync/lib/time";
import { type LogRecord, getHeaderText } from "@topicsync/kafka";
import { createValidator } from "@topicsync/lib/validation";
import { pushFeedbackSchema, type PushFeedback } from "../../schemas/push-feedback.ts";
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import type { DecodedReport, TokenReport } from "../../src/installations/feedback.ts";
import { maxValueBytes } from "../announcements/decode.ts";
import { createRoot, readJson, toRejection } from "../envelopes/envelope.ts";
import { createBatchRejection } from "../envelopes/open.ts";

const checkFeedback = createValidator<PushFeedback>(pushFeedbackSchema);
const maxReasonCharacters = 200;

/** Reads a record of the push feedback topic. Never throws: an unusable record carries its rejection. */
export function decodeReport(record: LogRecord): DecodedReport {
  const { offset, skippedBatch } = record;
  if (skippedBatch !== undefined) return { offset, rejection: createBatchRejection(skippedBatch) };
  try {
    return { offset, report: parseReport(record) };
  } catch (error) {
    return { offset, rejection: toRejection(error, "report") };
  }
}

/** Throws a RejectionError. */
function parseReport({ value, headers, timestamp }: LogRecord): TokenReport {
  const checked = checkFeedback(readValue(value));
  if (!checked.ok) throw createViolation(checked.faults);
  const { application, platform, token, reason, reportedOn } = checked.value;
  return {
    application: application ?? undefined,
    platform,
    token,
    reason: shorten(reason),
    reportedOn: getReportTime([
      reportedOn ?? undefined,
      getHeaderText(headers, deadLetterHeader.time),
      timestamp,
    ]),
  };
}

function readValue(value: Buffer | null): unknown {
  if (value === null) throw new RejectionError("SCHEMA_VIOLATION", "The report has no value.");
  if (value.length > maxValueBytes) {
    const message = `The report has ${value.length} bytes; the limit is ${maxValueBytes}.`;
    throw new RejectionError("TOO_LARGE", message);
  }
  return readJson(value, createRoot("report"));
}

/**
 * The earliest known time: that of the report, of the first sending of a replayed one, or of the record's
 * timestamp. A later time cannot be right, so with differing clocks a living token is not taken for dead. A
 * record without a timestamp has -1.
 */
function getReportTime([reportedOn, firstWritten, timestamp]: readonly (string | undefined)[]): Date {
  const times = [Date.parse(reportedOn ?? ""), Number(firstWritten), Number(timestamp)];
  const [earliest] = times.flatMap((time) => toTime(time) ?? []).sort((a, b) => Number(a) - Number(b));
  if (earliest !== undefined) return earliest;
  throw createViolation([{ path: "/reportedOn", message: "is required: the record has no timestamp" }]);
}

const createViolation = (faults: readonly Fault[]): RejectionError =>
  new RejectionError(
    "SCHEMA_VIOLATION",
    `The report is invalid. ${formatFaults(faults, "The report")}`,
    faults,
  );

const shorten = (reason: string): string =>
  // Do not cut between two surrogates.
  reason.length <= maxReasonCharacters ? reason : reason.slice(0, maxReasonCharacters).toWellFormed();
