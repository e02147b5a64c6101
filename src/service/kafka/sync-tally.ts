import type { RejectionError } from "@topicsync/lib/errors";

interface CountedBatch<Outcome extends string> {
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly rejections: readonly { readonly rejection: RejectionError }[];
}

export type Tally<Outcome extends string> = ReturnType<typeof createTally<Outcome>>;

/** Counts the outcomes of the records in the batches that this process stores, from zero on. */
export function createTally<Outcome extends string>(outcomes: readonly Outcome[]) {
  const total = Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
  const rejected: Record<string, number> = {};
  return {
    since: new Date(),
    add({ counts, rejections }: CountedBatch<Outcome>): void {
      for (const outcome of outcomes) total[outcome] += counts[outcome];
      for (const { rejection } of rejections) rejected[rejection.code] = (rejected[rejection.code] ?? 0) + 1;
    },
    /** Rejections are counted by their code; codes that did not occur are absent. */
    getCounts: (): Omit<typeof total, "rejected"> & { rejected: Record<string, number> } => ({
      ...total,
      rejected: { ...rejected },
    }),
  };
}
