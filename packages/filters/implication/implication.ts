import { hasSamePath } from "../filter/filter.ts";
import { findValue } from "./find-value.ts";
import { getContent, isAtOrAbove, type Content } from "./places.ts";
import { matches, type RootedCondition } from "../filter/topic-filters.ts";
import { countTestable, isDisjoint, isSubset, ValueSet, type SampleValue } from "./value-set.ts";
import { WitnessBuilder, type Witness } from "./witness.ts";

/**
 * Whether every event that meets some conditions meets other ones, too. What is certain about events
 * (places.ts) is used.
 */
export type Implication =
  /** For each of the other conditions, the conditions that it follows from; none if it always holds. */
  | { readonly verdict: "implied"; readonly proof: readonly Inference[] }
  /** An event that meets the conditions and not the other ones. */
  | { readonly verdict: "refuted"; readonly witness: Witness }
  | { readonly verdict: "undecided" };

export interface Inference {
  readonly condition: RootedCondition;
  readonly from: readonly RootedCondition[];
}

/**
 * Decides whether the conditions of a topic imply those of another one. Each condition selects its list
 * element by itself, so they do if and only if each of the others follows from a single condition, or from
 * those of one place that has at most one value. Takes time in proportion to the values, for a limited number
 * of conditions.
 */
export function implies(one: TopicConditions, other: TopicConditions): Implication {
  const contradiction = one.findContradiction();
  const proof: Inference[] = [];
  const open: Tested[] = [];
  for (const tested of other.all) {
    const from = contradiction ?? one.prove(tested);
    if (from === undefined) open.push(tested);
    else proof.push({ condition: tested.condition, from });
  }
  if (open.length === 0) return { verdict: "implied", proof };
  for (const against of open) {
    const witness = one.createWitness({ against });
    if (witness === undefined || other.areMet(witness)) continue;
    return { verdict: "refuted", witness };
  }
  return { verdict: "undecided" };
}

/** Whether the verdict is "implied", without a witness if it is not. */
export const areImplied = (one: TopicConditions, other: TopicConditions): boolean =>
  other.all.every((tested) => one.prove(tested) !== undefined) || one.findContradiction() !== undefined;

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

  /** Returns conditions that another one follows from; undefined if no proof is found. */
  prove({ condition, set: outer }: Tested): readonly RootedCondition[] | undefined {
    if (outer === undefined) return this.#proveExistence(condition);
    const { content, conditions, sets = [] } = this.#findPlace(condition) ?? {};
    const single = conditions?.find((_one, at) => sets[at] !== undefined && isSubset(sets[at], outer));
    if (single !== undefined) return [single];
    return content === "text" && isWithin(sets, outer) ? conditions : undefined;
  }

  #proveExistence(condition: RootedCondition): readonly RootedCondition[] | undefined {
    if (isAbsence(condition) && getContent(condition) === "nothing") return [];
    const found = isAbsence(condition)
      ? this.#conditions.find((one) => isAbsence(one) && isAtOrAbove(one, condition))
      : this.#conditions.find((one) => !isAbsence(one) && isAtOrAbove(condition, one));
    return found && [found];
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
