import { hasSamePath, isComparison, type Condition } from "../filter/filter.ts";
import { toNumberText } from "../filter/match.ts";
import { toFindablePattern, type FindablePattern } from "../patterns/patterns.ts";
import { isExactBound, toRange } from "../filter/ranges.ts";
import type { RootedCondition } from "../filter/topic-filters.ts";
import type { Alternative, SlotKind } from "./slots.ts";

/** What one condition adds to a topic's keys: one of the alternatives, at the path. */
interface KeyPart {
  readonly place: Condition;
  readonly kind: SlotKind;
  readonly alternatives: readonly Alternative[];
}

/** How a topic is found. */
interface KeyPlan {
  readonly keyParts: readonly KeyPart[];
  readonly checked: readonly RootedCondition[];
  /** To check only for an event with other values than doubles at the path of the key, which is a range. */
  readonly inRange?: readonly RootedCondition[];
}

/** A topic has at most this many keys, unless a single condition has more alternatives. */
const maxKeysPerTopic = 64;

/**
 * Splits conditions (at least one) into those that make the keys and those to check afterwards. Equalities
 * make the keys, those with the fewest alternatives first. A topic without any is found by one pattern, by
 * what must be present or absent, or by having anything at one of its paths.
 */
export function planKeys(conditions: readonly RootedCondition[]): KeyPlan {
  const equalities: KeyPart[] = [];
  for (const condition of conditions)
    if (condition.operator === "eq")
      equalities.push({ place: condition, kind: "equal", alternatives: toAlternatives(condition.values) });
  if (equalities.length === 0) return planOtherKey(conditions);
  sortFew(equalities, (one, other) => one.alternatives.length - other.alternatives.length);
  let keyed = 0;
  let keyCount = 1;
  for (const { alternatives } of equalities) {
    if (keyed > 0 && keyCount * alternatives.length > maxKeysPerTopic) break;
    keyCount *= alternatives.length;
    keyed += 1;
  }
  if (keyed === conditions.length) return { keyParts: equalities, checked: [] };
  const keyParts = equalities.slice(0, keyed);
  const inKeys = new Set<Condition>(keyParts.map(({ place }) => place));
  return { keyParts, checked: conditions.filter((condition) => !inKeys.has(condition)) };
}

/** Sorts a list of at most a hundred, which is usually in order, without the memory that `sort` takes. */
export function sortFew<T>(list: T[], compare: (one: T, other: T) => number): void {
  for (let at = 1; at < list.length; at += 1) {
    const moved = list[at];
    if (moved === undefined) continue;
    let to = at;
    for (; to > 0; to -= 1) {
      const before = list[to - 1];
      if (before === undefined || compare(before, moved) <= 0) break;
      list[to] = before;
    }
    list[to] = moved;
  }
}

/** A value of an equality is a text, and a number if it is one in another notation. */
function toAlternatives(values: readonly string[]): Alternative[] {
  const distinct = values.length === 1 ? values : findDistinct(values);
  const alternatives: Alternative[] = [];
  for (const text of distinct) alternatives.push({ kind: "text", text });
  let numbers: Set<string> | undefined;
  for (const value of distinct) {
    const text = toNumberText(value);
    // A number that prints as one of the values is found by that.
    if (text !== undefined && !distinct.includes(text)) (numbers ??= new Set()).add(text);
  }
  for (const text of numbers ?? []) alternatives.push({ kind: "number", text });
  return alternatives;
}

/** A set takes much more memory than two values. */
const findDistinct = (values: readonly string[]): readonly string[] =>
  values.length === 2 && values[0] !== values[1] ? values : [...new Set(values)];

function planOtherKey(conditions: readonly RootedCondition[]): KeyPlan {
  const indexed = conditions.flatMap((condition) => toPatternKey(condition) ?? []);
  const [best] = indexed.toSorted((one, other) => other.shortest - one.shortest);
  if (best !== undefined) {
    const checked = best.isExact ? conditions.filter((one) => one !== best.part.place) : conditions;
    return { keyParts: [best.part], checked };
  }
  const rangeKey = planRangeKey(conditions);
  if (rangeKey !== undefined) {
    const [alternative] = rangeKey.alternatives;
    const isOfNumbers = alternative?.kind === "range" && alternative.range.kind === "number";
    const isInRange = (one: RootedCondition): boolean =>
      isOfNumbers && isComparison(one.operator) && hasSamePath(one, rangeKey.place) && isExactBound(one);
    return {
      keyParts: [rangeKey],
      checked: conditions.filter((one) => !isInRange(one)),
      inRange: conditions.filter(isInRange),
    };
  }
  // Every other condition requires a value.
  const required = conditions.find((one) => !(one.operator === "exists" && one.values[0] === "false"));
  const [first] = conditions;
  const place = required ?? first;
  if (place === undefined) return { keyParts: [], checked: [] };
  return {
    keyParts: [
      { place, kind: required === undefined ? "absent" : "present", alternatives: [{ kind: "fact" }] },
    ],
    checked: place.operator === "exists" ? conditions.filter((one) => one !== place) : conditions,
  };
}

/** Prefers a path with a lower and an upper bound. Undefined without comparisons. */
function planRangeKey(conditions: readonly RootedCondition[]): KeyPart | undefined {
  const comparisons = conditions.filter(({ operator }) => isComparison(operator));
  let best: KeyPart | undefined;
  for (const place of comparisons) {
    const ofPath = comparisons.filter((one) => hasSamePath(one, place));
    if (ofPath[0] !== place) continue;
    const range = toRange(ofPath);
    const isBounded = Number.isFinite(range.lower) && Number.isFinite(range.upper);
    if (best === undefined || isBounded)
      best = { place, kind: "range", alternatives: [{ kind: "range", range }] };
    if (isBounded) break;
  }
  return best;
}

interface PatternKey {
  readonly part: KeyPart;
  /** Whether a text that satisfies one of the alternatives satisfies the condition. */
  readonly isExact: boolean;
  /** The shortest alternative's length: the longer, the fewer events it applies to. */
  readonly shortest: number;
}

/** Undefined for conditions that no index finds. */
function toPatternKey(condition: RootedCondition): PatternKey | undefined {
  const { operator, values } = condition;
  if (operator === "eq" || operator === "ne" || operator === "exists" || isComparison(operator))
    return undefined;
  // Several values may have one pattern: texts that differ in case, or expressions with the same beginning.
  const patterns = new Map<string, FindablePattern>();
  for (const value of values) {
    const pattern = toFindablePattern(operator, value);
    if (pattern === undefined) return undefined;
    patterns.set(`${pattern.operator} ${pattern.value}`, pattern);
  }
  return {
    part: {
      place: condition,
      kind: "pattern",
      alternatives: [...patterns.values()].map((pattern) => ({ kind: "pattern", pattern })),
    },
    isExact: operator !== "regex",
    shortest: Math.min(...[...patterns.values()].map(({ value }) => value.length)),
  };
}
