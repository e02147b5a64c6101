import { FilterSyntaxError, hasSamePath } from "../filter/filter.ts";
import { findValue } from "./find-value.ts";
import { getContent, isAtOrAbove, type Content } from "./places.ts";
import { matches, readFilters, type FilterTexts, type RootedCondition } from "../filter/topic-filters.ts";
import { countTestable, isDisjoint, isSubset, ValueSet, type SampleValue } from "./value-set.ts";
import { WitnessBuilder, type Witness } from "./witness.ts";

/**
 * Whether every event that meets some conditions meets other ones, too; refuted by an event that does not.
 * What is certain about events (places.ts) is used.
 */
export type Implication = "implied" | "refuted" | "undecided";

/**
 * Decides whether the conditions of a topic imply those of another one. Each condition selects its list
 * element by itself, so they do if and only if each of the others follows from a single condition, or from
 * those of one place that has at most one value. Takes time in proportion to the values, for a limited number
 * of conditions.
 */
export function implies(one: TopicConditions, other: TopicConditions): Implication {
  const open = other.all.filter((tested) => !one.proves(tested));
  if (open.length === 0 || one.findContradiction() !== undefined) return "implied";
  const isRefuted = open.some((against) => {
    const witness = one.createWitness({ against });
    return witness !== undefined && !other.areMet(witness);
  });
  return isRefuted ? "refuted" : "undecided";
}

/** As `implies`, without looking for an event that refutes it. */
export const areImplied = (one: TopicConditions, other: TopicConditions): boolean =>
  other.all.every((tested) => one.proves(tested)) || one.findContradiction() !== undefined;

/**
 * What a change of a topic's filters does to its events: none, only more, only fewer, none of the old ones,
 * or other ones as well. Undecided: no proof and no counterexample was found.
 */
export type FilterChange = "same" | "widened" | "narrowed" | "disjoint" | "changed" | "undecided";

export function classifyChange(before: TopicConditions, after: TopicConditions): FilterChange {
  const [kept, added] = [implies(before, after), implies(after, before)];
  if (kept === "implied" && added === "implied") return "same";
  if (kept === "implied" && added === "refuted") return "widened";
  if (kept === "refuted" && added === "implied") return "narrowed";
  if (before.isDisjoint(after)) return "disjoint";
  return kept === "refuted" && added === "refuted" ? "changed" : "undecided";
}

/** Undefined for filters that are invalid, which match no event. */
export function tryReadConditions(filters: FilterTexts): TopicConditions | undefined {
  try {
    return new TopicConditions(readFilters(filters));
  } catch (error) {
    if (error instanceof FilterSyntaxError) return undefined;
    throw error;
  }
}

/** Classifies a change of filters given as texts; undefined if one of them is invalid. */
export function compareFilters(before: FilterTexts, after: FilterTexts): FilterChange | undefined {
  const [old, next] = [tryReadConditions(before), tryReadConditions(after)];
  return old === undefined || next === undefined ? undefined : classifyChange(old, next);
}

/** A condition, and the values that satisfy it; undefined for "exists". */
interface Tested {
  readonly condition: RootedCondition;
  readonly set: ValueSet | undefined;
}

/** All conditions on the values of one place. */
interface PlaceSets {
  readonly place: RootedCondition;
  readonly content: Content;
  readonly conditions: RootedCondition[];
  readonly sets: ValueSet[];
}

interface WitnessOptions {
  /** The event must not meet this condition. */
  readonly against?: Tested;
  /** Prefers the last value of each condition. */
  readonly fromEnd?: boolean;
}

/** The conditions of a topic, prepared to be compared with others. */
export class TopicConditions {
  readonly all: readonly Tested[];
  readonly #conditions: readonly RootedCondition[];
  readonly #places: PlaceSets[] = [];

  constructor(conditions: readonly RootedCondition[]) {
    this.#conditions = conditions;
    this.all = conditions.map((condition) => ({ condition, set: this.#addSet(condition) }));
  }

  #addSet(condition: RootedCondition): ValueSet | undefined {
    if (condition.operator === "exists") return undefined;
    const content = getContent(condition);
    const set = new ValueSet(condition, content !== "any");
    const known = this.#findPlace(condition);
    known?.sets.push(set);
    known?.conditions.push(condition);
    if (known === undefined)
      this.#places.push({ place: condition, content, conditions: [condition], sets: [set] });
    return set;
  }

  #findPlace(condition: RootedCondition): PlaceSets | undefined {
    return this.#places.find(({ place }) => hasSamePath(place, condition));
  }

  areMet({ event, record }: Witness): boolean {
    return matches(this.#conditions, event, record);
  }

  /**
   * Returns conditions that no event meets all at once; undefined if none are found. `withoutLists`: that no
   * event meets whose members are not lists.
   */
  findContradiction({ withoutLists = false } = {}): readonly RootedCondition[] | undefined {
    const present = this.#conditions.filter((one) => !isAbsence(one));
    for (const one of this.#conditions) {
      const content = getContent(one);
      if (isAbsence(one)) {
        const other = present.find((other) => isAtOrAbove(one, other));
        if (other !== undefined) return [one, other];
      } else if (content === "nothing" || (content === "object" && one.operator !== "exists")) return [one];
    }
    for (const { place, content, conditions, sets } of this.#places) {
      if (!withoutLists && content !== "text") continue;
      if (hasNoValue(sets)) return conditions;
      const within = present.find((one) => one.path.length > place.path.length && isAtOrAbove(place, one));
      if (within !== undefined) return [...conditions, within];
    }
    return undefined;
  }

  /** Whether it is certain that no event meets these and other conditions. */
  isDisjoint(other: TopicConditions): boolean {
    const both = new TopicConditions([...this.#conditions, ...other.#conditions]);
    return both.findContradiction() !== undefined;
  }

  /** Whether another condition follows from these. */
  proves({ condition, set: outer }: Tested): boolean {
    if (outer === undefined) return this.#provesExistence(condition);
    const { content, sets = [] } = this.#findPlace(condition) ?? {};
    return sets.some((set) => isSubset(set, outer)) || (content === "text" && isWithin(sets, outer));
  }

  #provesExistence(condition: RootedCondition): boolean {
    if (!isAbsence(condition))
      return this.#conditions.some((one) => !isAbsence(one) && isAtOrAbove(condition, one));
    return (
      getContent(condition) === "nothing" ||
      this.#conditions.some((one) => isAbsence(one) && isAtOrAbove(one, condition))
    );
  }

  /** Creates an event that meets the conditions; undefined if none is found. */
  createWitness({ against, fromEnd }: WitnessOptions = {}): Witness | undefined {
    const builder = new WitnessBuilder();
    const add = (place: RootedCondition, sets: readonly ValueSet[]): boolean => {
      const isAvoided = against?.set !== undefined && hasSamePath(against.condition, place);
      const value = findValue(sets, isAvoided ? against.set : undefined, fromEnd);
      if (value !== undefined) builder.add(place, value);
      return value !== undefined;
    };
    for (const { place, content, sets } of this.#places) {
      if (content === "nothing" || content === "object") return undefined;
      const groups = content === "text" ? [sets] : sets.map((set) => [set]);
      if (!groups.every((group) => add(place, group))) return undefined;
    }
    for (const { condition, set } of this.all) {
      if (set !== undefined || isAbsence(condition)) continue;
      if (getContent(condition) !== "text") builder.addAnything(condition);
      else if (this.#findPlace(condition) === undefined && !add(condition, [])) return undefined;
    }
    if (against !== undefined && isAbsence(against.condition)) builder.addAnything(against.condition);
    const met = [...builder.build()].filter((witness) => this.areMet(witness));
    const refutes = ({ event, record }: Witness): boolean =>
      against !== undefined && !matches([against.condition], event, record);
    return met.find(refutes) ?? met[0];
  }
}

const isAbsence = ({ operator, values }: RootedCondition): boolean =>
  operator === "exists" && values[0] === "false";

/** Whether it is certain that no value is in all sets. */
function hasNoValue(sets: readonly ValueSet[]): boolean {
  const members = sets.find((set) => set.members !== undefined)?.members;
  if (members !== undefined)
    return members.length <= countTestable(sets) && !members.some((one) => sets.every((set) => set.has(one)));
  return sets.some((one, at) => sets.slice(at + 1).some((other) => isDisjoint(one, other)));
}

/** Whether it is certain that each value that is in all sets is in another one. */
function isWithin(sets: readonly ValueSet[], outer: ValueSet): boolean {
  const isInAll = (one: SampleValue): boolean => sets.every((set) => set.has(one));
  const members = sets.find((set) => set.members !== undefined)?.members;
  const tested = members ?? outer.excluded;
  if (tested === undefined || tested.length > countTestable([...sets, outer])) return false;
  return tested.filter(isInAll).every((one) => outer.has(one));
}
