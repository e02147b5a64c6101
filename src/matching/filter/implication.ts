import { hasSamePath } from "./filter.ts";
import { findValue } from "./find-value.ts";
import { getContent, isAtOrAbove, type Content } from "./places.ts";
import { matches, type RootedCondition } from "./topic-filters.ts";
import { canTest, isDisjoint, isSubset, ValueSet, type SampleValue } from "./value-set.ts";
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
 * Decides whether some conditions imply other ones. Each condition selects its list element by itself, so
 * they do if and only if each of the other ones follows from a single condition, or from those of one place
 * that has at most one value. Takes time in proportion to the values, for a limited number of conditions.
 */
export function implies(
  conditions: readonly RootedCondition[],
  others: readonly RootedCondition[],
): Implication {
  const premises = new Premises(conditions);
  const contradiction = premises.findContradiction();
  const proof: Inference[] = [];
  const open: RootedCondition[] = [];
  for (const condition of others) {
    const from = contradiction ?? premises.prove(condition);
    if (from === undefined) open.push(condition);
    else proof.push({ condition, from });
  }
  if (open.length === 0) return { verdict: "implied", proof };
  for (const condition of open) {
    const witness = premises.createWitness({ against: condition });
    if (witness === undefined || matches(others, witness.event, witness.record)) continue;
    return { verdict: "refuted", witness };
  }
  return { verdict: "undecided" };
}

/**
 * Returns conditions that no event meets all at once; undefined if none are found. `withoutLists`: that no
 * event meets whose members are not lists.
 */
export const findContradiction = (
  conditions: readonly RootedCondition[],
  { withoutLists = false } = {},
): readonly RootedCondition[] | undefined => new Premises(conditions).findContradiction(withoutLists);

/** Returns an event that meets the conditions; undefined if none is found. `fromEnd`: prefers another one. */
export const createWitness = (
  conditions: readonly RootedCondition[],
  { fromEnd = false } = {},
): Witness | undefined => new Premises(conditions).createWitness({ fromEnd });

interface WitnessOptions {
  readonly against?: RootedCondition;
  readonly fromEnd?: boolean;
}

const isAbsence = ({ operator, values }: RootedCondition): boolean =>
  operator === "exists" && values[0] === "false";

/** All conditions on the values of one place. */
interface PlaceSets {
  readonly place: RootedCondition;
  readonly content: Content;
  readonly sets: ValueSet<RootedCondition>[];
}

/** The conditions that an event is assumed to meet. */
class Premises {
  readonly #conditions: readonly RootedCondition[];
  readonly #places: PlaceSets[] = [];

  constructor(conditions: readonly RootedCondition[]) {
    this.#conditions = conditions;
    for (const condition of conditions) {
      if (condition.operator === "exists") continue;
      const known = this.#findPlace(condition);
      const set = getValueSet(condition);
      if (known !== undefined) known.sets.push(set);
      else this.#places.push({ place: condition, content: getContent(condition), sets: [set] });
    }
  }

  #findPlace(condition: RootedCondition): PlaceSets | undefined {
    return this.#places.find(({ place }) => hasSamePath(place, condition));
  }

  findContradiction(withoutLists = false): readonly RootedCondition[] | undefined {
    const present = this.#conditions.filter((one) => !isAbsence(one));
    for (const one of this.#conditions) {
      const content = getContent(one);
      if (isAbsence(one)) {
        const other = present.find((other) => isAtOrAbove(one, other));
        if (other !== undefined) return [one, other];
      } else if (content === "nothing" || (content === "object" && one.operator !== "exists")) return [one];
    }
    for (const { place, content, sets } of this.#places) {
      if (!withoutLists && content !== "text") continue;
      const all = sets.map(({ condition }) => condition);
      if (hasNoValue(sets)) return all;
      const within = present.find((one) => one.path.length > place.path.length && isAtOrAbove(place, one));
      if (within !== undefined) return [...all, within];
    }
    return undefined;
  }

  /** Returns conditions that another one follows from; undefined if no proof is found. */
  prove(condition: RootedCondition): readonly RootedCondition[] | undefined {
    if (condition.operator === "exists") return this.#proveExistence(condition);
    const { content, sets = [] } = this.#findPlace(condition) ?? {};
    const outer = getValueSet(condition);
    const single = sets.find((set) => isSubset(set, outer));
    if (single !== undefined) return [single.condition];
    if (content !== "text" || !isWithin(sets, outer)) return undefined;
    return sets.map((set) => set.condition);
  }

  #proveExistence(condition: RootedCondition): readonly RootedCondition[] | undefined {
    if (isAbsence(condition) && getContent(condition) === "nothing") return [];
    const found = isAbsence(condition)
      ? this.#conditions.find((one) => isAbsence(one) && isAtOrAbove(one, condition))
      : this.#conditions.find((one) => !isAbsence(one) && isAtOrAbove(condition, one));
    return found && [found];
  }

  /**
   * Creates an event that meets the conditions, but not the one that it is `against`; undefined if none is
   * found.
   */
  createWitness({ against, fromEnd }: WitnessOptions): Witness | undefined {
    const builder = new WitnessBuilder();
    const add = (place: RootedCondition, sets: readonly ValueSet[]): boolean => {
      const isAvoided = against !== undefined && against.operator !== "exists" && hasSamePath(against, place);
      const value = findValue(sets, isAvoided ? getValueSet(against) : undefined, fromEnd);
      if (value !== undefined) builder.add(place, value);
      return value !== undefined;
    };
    for (const { place, content, sets } of this.#places) {
      if (content === "nothing" || content === "object") return undefined;
      const groups = content === "text" ? [sets] : sets.map((set) => [set]);
      if (!groups.every((group) => add(place, group))) return undefined;
    }
    for (const one of this.#conditions) {
      if (one.operator !== "exists" || isAbsence(one)) continue;
      if (getContent(one) !== "text") builder.addAnything(one);
      else if (this.#findPlace(one) === undefined && !add(one, [])) return undefined;
    }
    if (against !== undefined && isAbsence(against)) builder.addAnything(against);
    const witness = builder.build();
    return matches(this.#conditions, witness.event, witness.record) ? witness : undefined;
  }
}

/** For conditions that are compared more than once. */
const knownSets = new WeakMap<RootedCondition, ValueSet<RootedCondition>>();

function getValueSet(condition: RootedCondition): ValueSet<RootedCondition> {
  let set = knownSets.get(condition);
  if (set === undefined)
    knownSets.set(condition, (set = new ValueSet(condition, getContent(condition) !== "any")));
  return set;
}

/** Whether it is certain that no value is in all sets. */
function hasNoValue(sets: readonly ValueSet[]): boolean {
  const members = sets.find((set) => set.members !== undefined)?.members;
  if (members !== undefined)
    return canTest(members, sets) && !members.some((one) => sets.every((set) => set.has(one)));
  return sets.some((one, at) => sets.slice(at + 1).some((other) => isDisjoint(one, other)));
}

/** Whether it is certain that each value that is in all sets is in another one. */
function isWithin(sets: readonly ValueSet[], outer: ValueSet): boolean {
  const isInAll = (one: SampleValue): boolean => sets.every((set) => set.has(one));
  const members = sets.find((set) => set.members !== undefined)?.members;
  const tested = members ?? outer.excluded;
  if (tested === undefined || !canTest(tested, [...sets, outer])) return false;
  return tested.filter(isInAll).every((one) => outer.has(one));
}
