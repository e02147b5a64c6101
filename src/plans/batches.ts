import { PlanError } from "@topicsync/lib/errors";
import { exchange, findRings, type Exchange } from "../topics/rings.ts";
import { getDefinition, type PlannedChange } from "./plan.ts";

/** How many changes are applied together: all of them or none. */
export const maxBatchSize = 500;

/**
 * Orders the changes of a plan so that each finds its unique values free, and splits them into batches.
 * Topics that exchange unique values in a ring are in one batch. Throws a PlanError for a larger ring.
 */
export function toBatches(changes: readonly PlannedChange[], maxSize = maxBatchSize): PlannedChange[][] {
  const batches: PlannedChange[][] = [];
  for (const found of findRings(changes.map(toExchange))) {
    const ring = found.map(({ change }) => change);
    if (ring.length > maxSize)
      throw new PlanError(
        `${ring.length} topics exchange their combinations in a ring, among them "${ring[0]?.externalId}"; ` +
          `at most ${maxSize} can change at once. Split the change into two plans.`,
      );
    const last = batches.at(-1);
    if (last === undefined || last.length + ring.length > maxSize) batches.push(ring);
    else last.push(...ring);
  }
  return batches;
}

export interface ExchangingChange extends Exchange {
  readonly change: PlannedChange;
}

/** A topic that is released keeps its values. */
export function toExchange(change: PlannedChange): ExchangingChange {
  const { freed, taken } = exchange(getDefinition(change.before), getDefinition(change.after));
  return { change, taken, freed: change.action === "release" ? [] : freed };
}
