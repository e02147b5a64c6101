import { printCondition, type TopicConditions, explain } from "@topicsync/filters";
import type { ImpactExample } from "../../../schemas/impact.ts";
import type { ReadEvent } from "./events.ts";

type DecisiveCondition = ImpactExample["decidedBy"][number];

/** A result has at most these. */
const maxConditions = 10;
const maxValues = 5;
const maxCharacters = 200;

/** The conditions of the old and of the new filters of a topic; undefined where no event matches. */
export interface ConditionPair {
  readonly before: TopicConditions | undefined;
  readonly after: TopicConditions | undefined;
}

/**
 * The conditions that decide that an event matches one of the two definitions only: those that the other one
 * does not meet, or all of the one that matches if there is no other.
 */
export function findDecisive(
  conditions: ConditionPair,
  matching: keyof ConditionPair,
  event: ReadEvent,
): DecisiveCondition[] {
  const failing = matching === "before" ? "after" : "before";
  const unmet = explainVersion(conditions, failing, event).filter(({ held }) => !held);
  const found = unmet.length > 0 ? unmet : explainVersion(conditions, matching, event);
  return found.slice(0, maxConditions);
}

function explainVersion(
  conditions: ConditionPair,
  version: keyof ConditionPair,
  { event, record }: ReadEvent,
): DecisiveCondition[] {
  const own = conditions[version];
  if (own === undefined) return [];
  const all = own.all.map(({ condition }) => condition);
  return explain(all, event, record).map(({ condition, held, found }) => ({
    version,
    filter: condition.member,
    condition: cut(printCondition(condition)),
    held,
    found: found.slice(0, maxValues).map(cut),
  }));
}

const cut = (text: string): string =>
  text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}…`.toWellFormed();
