import { isComparison, type Condition } from "../filter/filter.ts";
import { isScalar, listOnPath, readValue, type Scalar } from "../filter/match.ts";
import { PathTree, type Place } from "../filter/path-tree.ts";
import { createTest, toIndexedPattern, type PatternOperator } from "../patterns/patterns.ts";
import type { EventRecord } from "../filter/record.ts";
import { TextPatterns } from "../patterns/text-patterns.ts";
import {
  createSingleValue,
  createValueList,
  prepareForLists,
  type ListCondition,
  type ValueList,
} from "../implication/value-list.ts";

/** A condition that is not part of the keys, evaluated for the topics that a key has found. */
export interface Check {
  readonly test:
    | { readonly kind: "exists"; readonly wanted: boolean }
    | { readonly kind: "patterns"; readonly patterns: readonly CheckedPattern[] }
    | { readonly kind: "list"; readonly condition: ListCondition };
  readonly checkedPath: CheckedPath;
}

/** One value of a pattern condition. Topics with the same one share it, so each event tests it once. */
interface CheckedPattern {
  readonly name: string;
  /** The pattern in `CheckedPath.patterns` that every matching text satisfies; undefined if there is none. */
  readonly required: number | undefined;
  /** Undefined if `required` is all. */
  readonly test: ((text: string) => boolean) | undefined;
  uses: number;
  eventNumber: number;
  isSatisfied: boolean;
}

/** A path that checks use, and the current event's values there. */
interface CheckedPath {
  readonly place: Place;
  uses: number;
  /** What a walk through lists collected: undefined for an object. */
  collected: (Scalar | undefined)[];
  /** The event that the values belong to. */
  eventNumber: number;
  /** Undefined if the event has nothing there that can be compared. */
  values: ValueList | undefined;
  isPresent: boolean;
  patterns: PathPatterns | undefined;
}

interface PathPatterns {
  readonly index: TextPatterns;
  readonly byName: Map<string, CheckedPattern>;
  /** Those of the index that the event's texts satisfy, once a check has asked. */
  satisfied: Set<number> | undefined;
}

/**
 * The checks of a picker. A path's values are read when its first check asks, and lists are walked once for
 * all paths, so that no check costs more than its own values.
 */
export class Checks {
  /** How often a time in a filter was compared with values that are no times. */
  missedTimes = 0;
  readonly #tree = new PathTree<CheckedPath>();
  #event: unknown;
  #record: EventRecord | undefined;
  #eventNumber = 0;
  #isCollected = false;
  /** The paths with collected values. */
  #collectedPaths: CheckedPath[] = [];

  add(condition: Condition): Check {
    const checkedPath = this.#tree.getOrAdd(condition, () => createCheckedPath(condition));
    checkedPath.uses += 1;
    return { test: createTestOfCheck(condition, checkedPath), checkedPath };
  }

  remove({ test, checkedPath }: Check): void {
    const { patterns } = checkedPath;
    if (test.kind === "patterns" && patterns !== undefined)
      for (const one of test.patterns) releasePattern(patterns, one);
    checkedPath.uses -= 1;
    if (checkedPath.uses === 0) this.#tree.delete(checkedPath.place);
  }

  /** Sets the current event. */
  read(event: unknown, record: EventRecord | undefined): void {
    this.#event = event;
    this.#record = record;
    this.#eventNumber += 1;
    this.#isCollected = false;
  }

  /** Whether the current event satisfies a check. */
  passes({ test, checkedPath }: Check): boolean {
    if (checkedPath.eventNumber !== this.#eventNumber) this.#readValues(checkedPath);
    switch (test.kind) {
      case "list":
        return checkedPath.values !== undefined && this.#isMet(test.condition, checkedPath.values);
      case "exists":
        return checkedPath.isPresent === test.wanted;
      case "patterns":
        for (const pattern of test.patterns) if (this.#isSatisfied(pattern, checkedPath)) return true;
        return false;
    }
  }

  #isMet(condition: ListCondition, values: ValueList): boolean {
    if (values.some(condition)) return true;
    if (condition.kind === "comparison" && condition.operandKind === "instant" && values.hasNoTime())
      this.missedTimes += 1;
    return false;
  }

  #isSatisfied(pattern: CheckedPattern, checkedPath: CheckedPath): boolean {
    if (pattern.eventNumber === this.#eventNumber) return pattern.isSatisfied;
    pattern.eventNumber = this.#eventNumber;
    const { values } = checkedPath;
    const { required, test } = pattern;
    pattern.isSatisfied =
      values !== undefined &&
      (required === undefined || findSatisfied(checkedPath.patterns, values).has(required)) &&
      (test === undefined || values.someText(test));
    return pattern.isSatisfied;
  }

  #readValues(checkedPath: CheckedPath): void {
    const { path, ofRecord } = checkedPath.place;
    const value = readValue(ofRecord ? this.#record : this.#event, path);
    checkedPath.eventNumber = this.#eventNumber;
    if (checkedPath.patterns !== undefined) checkedPath.patterns.satisfied = undefined;
    if (value !== listOnPath) {
      checkedPath.isPresent = value !== undefined;
      checkedPath.values = isScalar(value) ? createSingleValue(value) : undefined;
      return;
    }
    if (!this.#isCollected) this.#collectLists();
    const scalars = checkedPath.collected.filter((one) => one !== undefined);
    checkedPath.isPresent = checkedPath.collected.length > 0;
    checkedPath.values = scalars.length === 0 ? undefined : createValueList(scalars);
  }

  #collectLists(): void {
    for (const checkedPath of this.#collectedPaths) checkedPath.collected = [];
    this.#collectedPaths = [];
    this.#tree.walk(this.#event, this.#record, (checkedPath, value) => {
      if (checkedPath.collected.length === 0) this.#collectedPaths.push(checkedPath);
      checkedPath.collected.push(value);
    });
    this.#isCollected = true;
  }
}

const createCheckedPath = ({ path, ofRecord }: Place): CheckedPath => ({
  place: ofRecord ? { path, ofRecord } : { path },
  uses: 0,
  collected: [],
  eventNumber: 0,
  values: undefined,
  isPresent: false,
  patterns: undefined,
});

function createTestOfCheck(condition: Condition, checkedPath: CheckedPath): Check["test"] {
  const { operator, values } = condition;
  if (operator === "exists") return { kind: "exists", wanted: values[0] === "true" };
  if (operator === "eq" || operator === "ne" || isComparison(operator))
    return { kind: "list", condition: prepareForLists(condition) };
  return {
    kind: "patterns",
    patterns: values.map((value) => acquirePattern(checkedPath, operator, value)),
  };
}

const createPathPatterns = (): PathPatterns => ({
  index: new TextPatterns(),
  byName: new Map(),
  satisfied: undefined,
});

function acquirePattern(checkedPath: CheckedPath, operator: PatternOperator, value: string): CheckedPattern {
  const patterns = (checkedPath.patterns ??= createPathPatterns());
  const name = `${operator} ${value}`;
  const pattern = patterns.byName.get(name) ?? createPattern(name, operator, value, patterns.index);
  pattern.uses += 1;
  patterns.byName.set(name, pattern);
  return pattern;
}

function createPattern(
  name: string,
  operator: PatternOperator,
  value: string,
  index: TextPatterns,
): CheckedPattern {
  const indexed = toIndexedPattern(operator, value);
  return {
    name,
    required: indexed === undefined ? undefined : index.acquire(indexed),
    test: indexed?.operator === operator ? undefined : createTest(operator, value),
    uses: 0,
    eventNumber: 0,
    isSatisfied: false,
  };
}

function releasePattern(patterns: PathPatterns, pattern: CheckedPattern): void {
  pattern.uses -= 1;
  if (pattern.uses > 0) return;
  patterns.byName.delete(pattern.name);
  if (pattern.required !== undefined) patterns.index.release(pattern.required);
}

function findSatisfied(patterns: PathPatterns | undefined, values: ValueList): ReadonlySet<number> {
  if (patterns?.satisfied !== undefined) return patterns.satisfied;
  const satisfied = new Set<number>();
  values.someText((text) => {
    patterns?.index.find(text, (number) => satisfied.add(number));
    return false;
  });
  if (patterns !== undefined) patterns.satisfied = satisfied;
  return satisfied;
}
