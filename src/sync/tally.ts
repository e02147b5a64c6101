import type { RejectionCode } from "../lib/errors.ts";
import type { FeedbackDecision, FeedbackOutcome } from "../installations/feedback.ts";
import type { AnnouncementOutcome } from "../topics/decide.ts";

/** A batch that was applied. */
export interface AppliedBatch {
  readonly counts: Readonly<Record<AnnouncementOutcome, number>>;
  /** The code of each rejection. */
  readonly rejected: readonly RejectionCode[];
  /** When each record was announced, in milliseconds since 1970. */
  readonly announcedOn: readonly number[];
  /** When they were stored. */
  readonly storedOn: number;
  /** How long looking up, deciding and writing took, in milliseconds. */
  readonly tookMs: number;
}

/** The outcomes of the announcements that this process applied since it started. */
export interface Counts {
  readonly created: number;
  readonly updated: number;
  readonly adopted: number;
  readonly unchanged: number;
  readonly retired: number;
  /** Rejections by their code; codes that did not occur are absent. */
  readonly rejected: Readonly<Partial<Record<RejectionCode, number>>>;
}

/** Counts outcomes. */
export interface Tally {
  readonly since: Date;
  add(batch: AppliedBatch): void;
  getCounts(): Counts;
}

/** A tally that begins now, at zero. */
export function createTally(): Tally {
  const total = { created: 0, updated: 0, adopted: 0, unchanged: 0, retired: 0 };
  const rejected: Partial<Record<RejectionCode, number>> = {};
  const outcomes = Object.keys(total) as (keyof typeof total)[];
  return {
    since: new Date(),
    add(batch) {
      for (const outcome of outcomes) total[outcome] += batch.counts[outcome];
      for (const code of batch.rejected) rejected[code] = (rejected[code] ?? 0) + 1;
    },
    getCounts: () => ({ ...total, rejected: { ...rejected } }),
  };
}

/** Counts the outcomes of push feedback. */
export interface FeedbackTally {
  add(decision: FeedbackDecision): void;
  getCounts(): Readonly<Record<Exclude<FeedbackOutcome, "rejected">, number>> & Pick<Counts, "rejected">;
}

/** A tally of push feedback, at zero. */
export function createFeedbackTally(): FeedbackTally {
  const total = { deactivated: 0, renewed: 0, inactive: 0, unknown: 0 };
  const rejected: Partial<Record<RejectionCode, number>> = {};
  const outcomes = Object.keys(total) as (keyof typeof total)[];
  return {
    add({ counts, rejections }) {
      for (const outcome of outcomes) total[outcome] += counts[outcome];
      for (const { rejection } of rejections) rejected[rejection.code] = (rejected[rejection.code] ?? 0) + 1;
    },
    getCounts: () => ({ ...total, rejected: { ...rejected } }),
  };
}
