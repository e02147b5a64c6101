import type { Fault } from "../../lib/errors.ts";
import { mergeEquals } from "./canonical.ts";
import { FilterSyntaxError, type Condition, type FilterMember } from "./filter.ts";
import { someValueAt, createTest } from "./match.ts";
import { parseFilter } from "./parse.ts";
import { createPathTree } from "./path-tree.ts";
import { createValueList, prepareForLists } from "./value-list.ts";

/** The two filters of a topic; absent means empty. */
export interface FilterTexts {
  readonly headerQuery?: string | undefined;
  readonly contentQuery?: string | undefined;
}

const members = ["headerQuery", "contentQuery"] as const satisfies FilterMember[];

/** A condition whose path begins at the event itself, and the filter it is of. */
export interface RootedCondition extends Condition {
  readonly member: FilterMember;
}

/**
 * All conditions of a topic, those of one name with "eq" in one; together they decide. The paths of `contentQuery` lead into
 * the event's `event` object, whether they begin with it or not (contract, section 5). Throws FilterSyntaxError.
 */
export function readFilters(texts: FilterTexts): RootedCondition[] {
  return members.flatMap((member) => {
    const { conditions } = mergeEquals(parseMember(member, texts[member] ?? ""));
    return conditions.map((condition) => ({ ...condition, member, path: rooted(member, condition.path) }));
  });
}

/** The filters of a topic that cannot be read: at most one error for each. */
export function filterErrors(texts: FilterTexts): FilterSyntaxError[] {
  return members.flatMap((member) => {
    try {
      parseMember(member, texts[member] ?? "");
      return [];
    } catch (error) {
      if (!(error instanceof FilterSyntaxError)) throw error;
      return [error];
    }
  });
}

/** What is wrong with the filters of a topic: the member's JSON Pointer, and where in it. */
export const filterFaults = (texts: FilterTexts): Fault[] =>
  filterErrors(texts).map(({ member = "", problem, position }) => ({
    path: `/${member}`,
    message: `${problem}, at character ${position + 1}`,
  }));

/** Whether an event belongs to a topic with these conditions. */
export const matches = (conditions: readonly RootedCondition[], event: unknown): boolean =>
  conditions.every((condition) => someValueAt(event, condition.path, createTest(condition)));

/** What became of one condition. */
export interface ConditionResult {
  readonly condition: RootedCondition;
  readonly held: boolean;
  /** What the event has there, as texts. */
  readonly found: readonly string[];
}

/** Each condition against an event, with what was found there. */
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

function parseMember(member: FilterMember, text: string): ReturnType<typeof parseFilter> {
  try {
    return parseFilter(text, member);
  } catch (error) {
    if (error instanceof FilterSyntaxError)
      throw new FilterSyntaxError(error.problem, error.position, member);
    throw error;
  }
}

function rooted(member: FilterMember, path: readonly string[]): readonly string[] {
  if (member === "headerQuery") return path;
  return path[0] === "event" && path.length > 1 ? path : ["event", ...path];
}
