import { PlanError } from "@topicsync/lib/errors";
import type { PlannedChange } from "./plan.ts";

/** How many topics a plan may disable: a number, or a share of the set's topics. */
export type MaxDeletes = { readonly count: number } | { readonly percent: number };

export interface PruneOptions {
  /** Undefined: 10 topics, or 10 % of the set if that is more. */
  readonly maxDeletes: MaxDeletes | undefined;
}

/** Throws a PlanError, with the option to use, if a plan disables too many topics of its set. */
export function requirePruneLimit(
  changes: readonly PlannedChange[],
  members: number,
  { maxDeletes }: PruneOptions,
): void {
  const count = changes.filter(({ action }) => action === "disable").length;
  const limit = getLimit(maxDeletes, members);
  if (count <= limit) return;
  throw new PlanError(
    `The plan would disable ${count} of the ${members} topics of the set, and at most ${limit} are allowed. ` +
      `If that is intended, use --max-deletes ${count}.`,
  );
}

function getLimit(maxDeletes: MaxDeletes | undefined, members: number): number {
  if (maxDeletes === undefined) return Math.max(10, Math.floor(members / 10));
  return "count" in maxDeletes ? maxDeletes.count : Math.floor((members * maxDeletes.percent) / 100);
}
