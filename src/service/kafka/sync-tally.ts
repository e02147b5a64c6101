import type { RejectionCode, RejectionError } from "@topicsync/lib/errors";
import type { FeedbackOutcome } from "../../installations/feedback.ts";
import type { AnnouncementOutcome } from "../../topics/decide.ts";

/** The outcomes of the records that this process applied since it started. */
type Counts<Outcome extends string> = Readonly<Record<Outcome, number>> & {
  /** Rejections by their code; codes that did not occur are absent. */
  readonly rejected: Readonly<Partial<Record<RejectionCode, number>>>;
};

/** Counts the outcomes of stored batches. */
interface Tally<Outcome extends string> {
  readonly since: Date;
  add(batch: CountedBatch<Outcome>): void;
  getCounts(): Counts<Outcome>;
}

interface CountedBatch<Outcome extends string> {
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly rejections: readonly { readonly rejection: RejectionError }[];
}

export type AnnouncementTally = Tally<Exclude<AnnouncementOutcome, "rejected">>;
export type FeedbackTally = Tally<Exclude<FeedbackOutcome, "rejected">>;

/** A tally of announcements that begins now, at zero. */
export const createTally = (): AnnouncementTally =>
  createTallyFrom({ created: 0, updated: 0, adopted: 0, unchanged: 0, retired: 0 });

/** A tally of push feedback that begins now, at zero. */
export const createFeedbackTally = (): FeedbackTally =>
  createTallyFrom({ deactivated: 0, renewed: 0, inactive: 0, unknown: 0 });

function createTallyFrom<Outcome extends string>(total: Record<Outcome, number>): Tally<Outcome> {
  const rejected: Partial<Record<RejectionCode, number>> = {};
  const outcomes = Object.keys(total) as Outcome[];
  return {
    since: new Date(),
    add({ counts, rejections }) {
      for (const outcome of outcomes) total[outcome] += counts[outcome];
      for (const { rejection } of rejections) rejected[rejection.code] = (rejected[rejection.code] ?? 0) + 1;
    },
    getCounts: () => ({ ...total, rejected: { ...rejected } }),
  };
}
