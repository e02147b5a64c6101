import { PlanError } from "@topicsync/lib/errors";
import { getCombination } from "../topics/topic.ts";
import type { PlannedChange } from "./plan.ts";

/** How many changes are applied together: all of them or none. */
export const maxBatchSize = 500;

/**
 * Orders the changes of a plan so that each finds its unique values free, and splits them into batches.
 * Topics that exchange unique values in a ring are in one batch. Throws a PlanError for a larger ring.
 */
export function toBatches(changes: readonly PlannedChange[], maxSize = maxBatchSize): PlannedChange[][] {
  const batches: PlannedChange[][] = [];
  for (const ring of findRings(changes)) {
    if (ring.length > maxSize)
      throw new PlanError(
        `${ring.length} topics exchange their combinations in a ring, among them "${ring[0]?.externalId}"; ` +
          `at most ${maxSize} can change at once. Split the change into two plans.`,
      );
    const last = batches.at(-1);
    if (last === undefined || last.length + ring.length > maxSize) batches.push([...ring]);
    else last.push(...ring);
  }
  return batches;
}

interface Visit {
  readonly change: PlannedChange;
  /** The changes that give up what it takes, and are not visited yet. */
  readonly open: PlannedChange[];
  readonly index: number;
  low: number;
}

/**
 * Groups changes that wait for each other; most are alone. What a group waits for comes before it (Tarjan's
 * strongly connected components, without recursion).
 */
function* findRings(changes: readonly PlannedChange[]): Generator<PlannedChange[]> {
  const holders = new Map(changes.flatMap((one) => getFreed(one).map((value) => [value, one])));
  const visits = new Map<PlannedChange, Visit>();
  const placed = new Set<PlannedChange>();
  /** Visited changes whose ring is not complete yet. */
  const pending: PlannedChange[] = [];
  const begin = (change: PlannedChange): Visit => {
    const open = getTaken(change).flatMap((value) => holders.get(value) ?? []);
    const visit = {
      change,
      open: open.filter((one) => one !== change),
      index: visits.size,
      low: visits.size,
    };
    visits.set(change, visit);
    pending.push(change);
    return visit;
  };
  for (const start of changes) {
    const path = visits.has(start) ? [] : [begin(start)];
    for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
      const next = visit.open.pop();
      const known = next && visits.get(next);
      if (next !== undefined && known === undefined) path.push(begin(next));
      else if (known !== undefined) {
        if (!placed.has(known.change)) visit.low = Math.min(visit.low, known.index);
      } else {
        path.pop();
        const parent = path.at(-1);
        if (parent !== undefined) parent.low = Math.min(parent.low, visit.low);
        if (visit.low !== visit.index) continue;
        const ring = pending.splice(pending.lastIndexOf(visit.change));
        for (const change of ring) placed.add(change);
        yield ring;
      }
    }
  }
}

/** The unique values that a change takes. */
const getTaken = ({ before, after }: PlannedChange): string[] =>
  without(toUniqueValues(after), toUniqueValues(before));

/** The unique values that a change gives up. */
const getFreed = ({ action, before, after }: PlannedChange): string[] =>
  action === "release" ? [] : without(toUniqueValues(before), toUniqueValues(after));

const without = (values: readonly string[], others: readonly string[]): string[] =>
  values.filter((value) => !others.includes(value));

const toUniqueValues = (state: PlannedChange["after"]): string[] =>
  state?.definition === undefined
    ? []
    : [`id ${state.externalId}`, `combination ${getCombination(state.definition)}`];
