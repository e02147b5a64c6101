import { hasSamePath, isComparison, type Condition } from "../filter/filter.ts";
import { toNumberText } from "../filter/match.ts";
import { toIndexedPattern, type IndexedPattern } from "../filter/patterns.ts";
import { toRange } from "../filter/ranges.ts";
import type { EventRecord } from "../filter/record.ts";
import { readFilters, type FilterTexts, type RootedCondition } from "../filter/topic-filters.ts";
import { Checks, type Check } from "./checks.ts";
import { EventValues } from "./event-values.ts";
import type { KeyTable } from "./key-table.ts";
import { KeyTables } from "./key-tables.ts";
import { Slots, type Alternative, type Slot, type SlotKind } from "./slots.ts";

/** An index of topics by their filters: finds the topics that an event belongs to. */
export interface Picker {
  /** Adds or replaces a topic. Throws FilterSyntaxError and changes nothing then. */
  set(externalId: string, filters: FilterTexts): void;
  /** Returns whether the topic was there. */
  delete(externalId: string): boolean;
  /**
   * Returns the external ids of the topics that an event belongs to, each once, in no particular order.
   * `record`: what is known of the record that carries the event, for filters that look at it.
   */
  pick(event: unknown, record?: EventRecord): string[];
  readonly size: number;
  /** How many topics have no conditions, so that every event belongs to them. */
  readonly unconditional: number;
}

/** A topic with conditions. */
interface KeyedTopic {
  readonly externalId: string;
  readonly number: number;
  readonly table: KeyTable;
  readonly lastEntry: number;
  readonly checks: readonly Check[];
  /** The last event that found it: an event with lists may find it by several keys. */
  lastEventNumber: number;
}

const noChecks: readonly Check[] = [];

/** Creates an empty picker. */
export const createPicker = (): Picker => new KeyedPicker();

/**
 * A topic is found by its keys: the values of all its equalities, one alternative of each. Topics whose keys
 * use the same paths share a hash table. An event is walked once along the paths in use, and each table whose
 * paths it has is asked once. The cost is that of the tables and matches, not of all topics. Ranges and
 * negations are checked for the topics that a key has found (ARCHITECTURE.md, "An event").
 */
class KeyedPicker implements Picker {
  /** By external id. A number is a topic without conditions: its index in `#unconditional`. */
  readonly #byExternalId = new Map<string, KeyedTopic | number>();
  readonly #unconditional: string[] = [];
  /** By topic number, as stored in the key tables. */
  readonly #topics: (KeyedTopic | undefined)[] = [];
  readonly #freeNumbers: number[] = [];
  readonly #slots = new Slots();
  readonly #tables = new KeyTables();
  readonly #checks = new Checks();
  readonly #eventValues = new EventValues();

  set(externalId: string, filters: FilterTexts): void {
    const conditions = readFilters(filters);
    this.delete(externalId);
    this.#add(externalId, conditions);
  }

  delete(externalId: string): boolean {
    const topic = this.#byExternalId.get(externalId);
    if (topic === undefined) return false;
    this.#byExternalId.delete(externalId);
    if (typeof topic === "number") this.#removeUnconditional(topic);
    else this.#removeKeyed(topic);
    return true;
  }

  pick(event: unknown, record?: EventRecord): string[] {
    const picked = this.#unconditional.slice();
    const [topics, checks, eventValues] = [this.#topics, this.#checks, this.#eventValues];
    eventValues.read(this.#slots, event, record);
    checks.read(event, record);
    this.#tables.find(eventValues, (number) => {
      const topic = topics[number];
      if (topic === undefined) return;
      if (eventValues.hasLists() && topic.lastEventNumber === eventValues.number) return;
      topic.lastEventNumber = eventValues.number;
      for (const check of topic.checks) if (!checks.passes(check)) return;
      picked.push(topic.externalId);
    });
    return picked;
  }

  get size(): number {
    return this.#byExternalId.size;
  }

  get unconditional(): number {
    return this.#unconditional.length;
  }

  #add(externalId: string, conditions: readonly RootedCondition[]): void {
    if (conditions.length === 0) {
      this.#byExternalId.set(externalId, this.#unconditional.push(externalId) - 1);
      return;
    }
    const { keyParts, checked } = planKeys(conditions);
    const parts = keyParts.map(({ place, kind, alternatives }) => ({
      slot: this.#slots.acquire(place, kind),
      alternatives,
    }));
    parts.sort((a, b) => a.slot.number - b.slot.number);
    const table = this.#tables.getOrAdd(parts.map(({ slot }) => slot));
    const number = this.#freeNumbers.pop() ?? this.#topics.length;
    const topic: KeyedTopic = {
      externalId,
      number,
      table,
      lastEntry: addKeys(table, parts, number),
      checks: checked.length === 0 ? noChecks : checked.map((condition) => this.#checks.add(condition)),
      lastEventNumber: 0,
    };
    this.#topics[number] = topic;
    this.#byExternalId.set(externalId, topic);
  }

  #removeKeyed({ number, table, lastEntry, checks }: KeyedTopic): void {
    table.remove(lastEntry, (key) => {
      for (const [at, value] of key.entries()) table.slots[at]?.release(value);
    });
    for (const slot of table.slots) this.#slots.release(slot);
    for (const check of checks) this.#checks.remove(check);
    this.#topics[number] = undefined;
    this.#freeNumbers.push(number);
    if (table.isEmpty()) this.#tables.delete(table);
  }

  /** Moves the last one into the gap. */
  #removeUnconditional(at: number): void {
    const last = this.#unconditional.pop();
    if (last === undefined || at === this.#unconditional.length) return;
    this.#unconditional[at] = last;
    this.#byExternalId.set(last, at);
  }
}

/** What one condition adds to a topic's keys: one of the alternatives, at the path. */
interface KeyPart {
  readonly place: Condition;
  readonly kind: SlotKind;
  readonly alternatives: readonly Alternative[];
}

interface KeyPlan {
  readonly keyParts: readonly KeyPart[];
  readonly checked: readonly RootedCondition[];
}

/** A topic has at most this many keys, unless a single condition has more alternatives. */
const maxKeysPerTopic = 64;

/**
 * Splits conditions (at least one) into those that make the keys and those to check afterwards. Equalities
 * make the keys, those with the fewest alternatives first. A topic without any is found by one pattern, by
 * what must be present or absent, or by having anything at one of its paths.
 */
function planKeys(conditions: readonly RootedCondition[]): KeyPlan {
  const equalities: KeyPart[] = [];
  for (const condition of conditions)
    if (condition.operator === "eq")
      equalities.push({ place: condition, kind: "equal", alternatives: toAlternatives(condition.values) });
  if (equalities.length === 0) return planOtherKey(conditions);
  equalities.sort((a, b) => a.alternatives.length - b.alternatives.length);
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

/** A value of an equality is a text, and a number if it is one in another notation. */
function toAlternatives(values: readonly string[]): Alternative[] {
  const distinct = values.length === 1 ? values : [...new Set(values)];
  const alternatives: Alternative[] = distinct.map((text) => ({ kind: "text", text }));
  const numbers = new Set(distinct.flatMap((value) => toNumberText(value) ?? []));
  // A number that prints as one of the values is found by that.
  for (const text of numbers) if (!distinct.includes(text)) alternatives.push({ kind: "number", text });
  return alternatives;
}

function planOtherKey(conditions: readonly RootedCondition[]): KeyPlan {
  const indexed = conditions.flatMap((condition) => toPatternKey(condition) ?? []);
  const [best] = indexed.toSorted((one, other) => other.shortest - one.shortest);
  if (best !== undefined) {
    const checked = best.isExact ? conditions.filter((one) => one !== best.part.place) : conditions;
    return { keyParts: [best.part], checked };
  }
  const rangeKey = planRangeKey(conditions);
  if (rangeKey !== undefined) return { keyParts: [rangeKey], checked: conditions };
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
  // Several values may have one pattern: texts that differ in case, or wildcards after the same beginning.
  const patterns = new Map<string, IndexedPattern>();
  for (const value of values) {
    const pattern = toIndexedPattern(operator, value);
    if (pattern === undefined) return undefined;
    patterns.set(`${pattern.operator} ${pattern.value}`, pattern);
  }
  return {
    part: {
      place: condition,
      kind: "pattern",
      alternatives: [...patterns.values()].map((pattern) => ({ kind: "pattern", pattern })),
    },
    isExact: operator !== "like" && operator !== "regex",
    shortest: Math.min(...[...patterns.values()].map(({ value }) => value.length)),
  };
}

interface SlotAlternatives {
  readonly slot: Slot;
  readonly alternatives: readonly Alternative[];
}

/** Adds an entry for every way to take one alternative of each part. Returns the last one. */
function addKeys(table: KeyTable, parts: readonly SlotAlternatives[], topic: number): number {
  const chosen: (Alternative | undefined)[] = parts.map(({ alternatives }) => alternatives[0]);
  let lastEntry = 0;

  function choose(from: number): void {
    const part = parts[from];
    if (part === undefined) {
      const key = parts.map(({ slot }, at) => {
        const alternative = chosen[at];
        return alternative === undefined ? 0 : slot.acquire(alternative);
      });
      lastEntry = table.add(key, topic, lastEntry);
      return;
    }
    for (const alternative of part.alternatives) {
      chosen[from] = alternative;
      choose(from + 1);
    }
  }

  choose(0);
  return lastEntry;
}
