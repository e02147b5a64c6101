import { createValueTest } from "./match.ts";
import { isPatternOperator } from "../patterns/patterns.ts";
import { readValidFilters, type FilterTexts, type RootedCondition } from "./topic-filters.ts";

interface Use {
  /** From the root of the event, or of its `event` object. */
  readonly path: readonly string[];
  readonly value?: string | undefined;
}

/**
 * Whether a topic has a condition on a path or on one below it, and names the value: as one of the values
 * that it compares with, or by a pattern that the value satisfies. Invalid filters have no conditions.
 */
export function hasUse(texts: FilterTexts, { path, value }: Use): boolean {
  return readValidFilters(texts).some(
    (condition) =>
      !condition.ofRecord &&
      (beginsWith(condition.path, path) || beginsWith(condition.path, ["event", ...path])) &&
      (value === undefined || namesValue(condition, value)),
  );
}

const beginsWith = (path: readonly string[], beginning: readonly string[]): boolean =>
  beginning.every((name, at) => path[at] === name);

const namesValue = (condition: RootedCondition, value: string): boolean =>
  condition.values.includes(value) ||
  (isPatternOperator(condition.operator) && createValueTest(condition)(value, false));
