import { FilterSyntaxError, mergeEquals, type Condition, type Filter, type FilterMember } from "./filter.ts";
import { createConditionTest } from "./match.ts";
import { parseFilter } from "./parse.ts";
import { PatternBudget } from "../patterns/pattern-budget.ts";
import type { EventRecord } from "./record.ts";

/** The filters of a topic; absent means empty. */
export interface FilterTexts {
  readonly headerQuery?: string | undefined;
  readonly contentQuery?: string | undefined;
}

const members = ["headerQuery", "contentQuery"] as const satisfies FilterMember[];

/** A condition of one of the two filters, with a path from the root of the event, or of its record. */
export interface RootedCondition extends Condition {
  readonly member: FilterMember;
}

/**
 * Returns all conditions of a topic, equalities of one name merged; an event must meet all of them. Paths of
 * `contentQuery` lead into the event's `event` object, with or without a leading `event.`. Throws
 * FilterSyntaxError.
 */
export function readFilters(texts: FilterTexts): RootedCondition[] {
  const rooted: RootedCondition[] = [];
  const budget = PatternBudget.forTopic();
  for (const member of members) addConditions(rooted, member, texts, budget);
  return rooted;
}

/** As `readFilters`, but an invalid filter has no conditions. */
export function readValidFilters(texts: FilterTexts): RootedCondition[] {
  const rooted: RootedCondition[] = [];
  tryEach((member, budget) => {
    addConditions(rooted, member, texts, budget);
  });
  return rooted;
}

/** Throws FilterSyntaxError, and adds nothing then. */
function addConditions(
  rooted: RootedCondition[],
  member: FilterMember,
  texts: FilterTexts,
  budget: PatternBudget,
): void {
  const { conditions } = mergeEquals(parseMemberFilter(member, texts[member] ?? "", budget));
  // Members one by one: a spread takes a tenth of the time in which topics are loaded.
  for (const { path, ofRecord, operator, values } of conditions)
    rooted.push(
      ofRecord
        ? { path, ofRecord, operator, values, member }
        : { path: addEventPrefix(member, path), operator, values, member },
    );
}

/** Returns at most one error per filter. `whole`: the budget of all topics of a request. */
export const findFilterErrors = (texts: FilterTexts, whole?: PatternBudget): FilterSyntaxError[] =>
  tryEach((member, budget) => {
    parseMemberFilter(member, texts[member] ?? "", budget);
  }, whole);

function tryEach(
  read: (member: FilterMember, budget: PatternBudget) => void,
  whole?: PatternBudget,
): FilterSyntaxError[] {
  const errors: FilterSyntaxError[] = [];
  let budget = PatternBudget.forTopic(whole);
  for (const member of members)
    try {
      read(member, budget);
    } catch (error) {
      if (!(error instanceof FilterSyntaxError)) throw error;
      errors.push(error);
      // Otherwise the other filter would be reported for what this one has spent.
      budget = PatternBudget.forTopic(whole);
    }
  return errors;
}

/** What is wrong with a member. */
interface FilterFault {
  readonly path: string;
  readonly message: string;
}

/** Returns the errors as faults, with the JSON Pointer of the member. */
export const findFilterFaults = (texts: FilterTexts, whole?: PatternBudget): FilterFault[] =>
  findFilterErrors(texts, whole).map(({ member = "", problem, position }) => ({
    path: `/${member}`,
    message: `${problem}, at character ${position + 1}`,
  }));

/** Evaluates conditions one by one: the plain meaning of filters, which the picker is compared with. */
export const matches = (
  conditions: readonly RootedCondition[],
  event: unknown,
  record: EventRecord = {},
): boolean =>
  conditions.every((condition) => createConditionTest(condition)(condition.ofRecord ? record : event));

function parseMemberFilter(member: FilterMember, text: string, budget: PatternBudget): Filter {
  try {
    return parseFilter(text, member, budget);
  } catch (error) {
    if (error instanceof FilterSyntaxError)
      throw new FilterSyntaxError(error.problem, error.position, member);
    throw error;
  }
}

/** By the path without the prefix, which many conditions share (parse.ts). */
const prefixedPaths = new WeakMap<readonly string[], readonly string[]>();

function addEventPrefix(member: FilterMember, path: readonly string[]): readonly string[] {
  if (member === "headerQuery" || (path[0] === "event" && path.length > 1)) return path;
  let prefixed = prefixedPaths.get(path);
  if (prefixed === undefined) prefixedPaths.set(path, (prefixed = ["event", ...path]));
  return prefixed;
}
