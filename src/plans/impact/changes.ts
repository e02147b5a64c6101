import { compareFilters, findFilterFaults, type FilterTexts, PatternBudget } from "@topicsync/filters";
import type { Fault } from "@topicsync/lib/errors";
import { Turns } from "@topicsync/lib/concurrency/turns";
import type { ImpactBody, ImpactKind } from "../../../schemas/impact.ts";
import { toDefinition } from "../../topics/topic.ts";

/** The old and the new filters of a topic; undefined where there is no such topic. */
export interface ImpactChange {
  readonly externalId: string;
  readonly before: FilterTexts | undefined;
  readonly after: FilterTexts | undefined;
}

/** Classifies a change. Invalid filters match no event. */
export function classifyImpact({ before, after }: ImpactChange): ImpactKind {
  if (after === undefined) return "removed";
  if (before === undefined) return "created";
  return compareFilters(before, after) ?? "widened";
}

/** A topic as it would be. */
export type ProposedTopic = ImpactBody["changes"][number];

/** The faults of the new filters, read within the budget of a request, and topics that occur twice. */
export async function findChangeFaults(changes: readonly ProposedTopic[]): Promise<Fault[]> {
  const seen = new Set<string>();
  const faults: Fault[] = [];
  const budget = PatternBudget.forRequest();
  const turns = new Turns();
  for (const [at, change] of changes.entries()) {
    const place = `/changes/${at}`;
    if (seen.has(change.externalId))
      faults.push({ path: `${place}/externalId`, message: "occurs a second time" });
    seen.add(change.externalId);
    for (const { path, message } of findFilterFaults(toFilters(change), budget))
      faults.push({ path: `${place}${path}`, message });
    if (turns.isOver()) await turns.next();
  }
  return faults;
}

/** Compares a proposed topic with the stored one, if there is one. */
export const toImpactChange = (proposed: ProposedTopic, stored: FilterTexts | undefined): ImpactChange => ({
  externalId: proposed.externalId,
  before: stored,
  after: proposed.disable === true ? undefined : toFilters(proposed),
});

const toFilters = (proposed: ProposedTopic): FilterTexts => toDefinition({ ...proposed, name: "" });
