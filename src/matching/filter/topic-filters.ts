import type { Fault } from "../../lib/errors.ts";

import { FilterSyntaxError, mergeEquals, type Condition, type FilterMember } from "./filter.ts";
import { hasMatchingValue, createValueTest } from "./match.ts";
import { parseFilter } from "./parse.ts";
import { createPathTree } from "./path-tree.ts";
import { createValueList, prepareForLists } from "./value-list.ts";

/** The filters of a topic; absent means empty. */
export interface FilterTexts {
  readonly headerQuery?: string | undefined;
  readonly contentQuery?: string | undefined;
}

const members = ["headerQuery", "contentQuery"] as const satisfies FilterMember[];

/** A condition of one of the two filters, with a path from the root of the event. */
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
  for (const member of members) {
    const { conditions } = mergeEquals(parseMemberFilter(member, texts[member] ?? ""));
    for (const { path, operator, values } of conditions)
      rooted.push({ path: addEventPrefix(member, path), operator, values, member });
  }
  return rooted;
}

/** Returns at most one error per filter. */
export function findFilterErrors(texts: FilterTexts): FilterSyntaxError[] {
  return members.flatMap((member) => {
    try {
      parseMemberFilter(member, texts[member] ?? "");
      return [];
    } catch (error) {
      if (!(error instanceof FilterSyntaxError)) throw error;
      return [error];
    }
  });
}

/** Returns the errors as faults, with the JSON Pointer of the member. */
export const findFilterFaults = (texts: FilterTexts): Fault[] =>
  findFilterErrors(texts).map(({ member = "", problem, position }) => ({
    path: `/${member}`,
    message: `${problem}, at character ${position + 1}`,
  }));

export const matches = (conditions: readonly RootedCondition[], event: unknown): boolean =>
  conditions.every((condition) => hasMatchingValue(event, condition.path, createValueTest(condition)));

export interface ConditionResult {
  readonly condition: RootedCondition;
  readonly held: boolean;
  /** The event's values at the path. */
  readonly found: readonly string[];
}

/** Evaluates each condition against an event. */
export function explain(conditions: readonly RootedCondition[], event: unknown): ConditionResult[] {
  const tree = createPathTree<string[]>();
  const found = conditions.map(({ path }) => tree.getOrAdd(path, () => []));
  tree.walk(event, (texts, text) => {
    texts.push(text);
  });
  const lists = new Map(found.map((texts) => [texts, createValueList(texts)]));
  return conditions.map((condition, at) => ({
    condition,
    held: lists.get(found[at] ?? [])?.some(prepareForLists(condition)) ?? false,
    found: found[at] ?? [],
  }));
}

function parseMemberFilter(member: FilterMember, text: string): ReturnType<typeof parseFilter> {
  try {
    return parseFilter(text, member);
  } catch (error) {
    if (error instanceof FilterSyntaxError)
      throw new FilterSyntaxError(error.problem, error.position, member);
    throw error;
  }
}

function addEventPrefix(member: FilterMember, path: readonly string[]): readonly string[] {
  if (member === "headerQuery") return path;
  return path[0] === "event" && path.length > 1 ? path : ["event", ...path];
}
