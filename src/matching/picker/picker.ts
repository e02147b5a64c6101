import { readFilters, type FilterTexts, type RootedCondition } from "../filter/topic-filters.ts";
import { createChecks, type Check } from "./checks.ts";
import { createEventValues } from "./event-values.ts";
import type { KeyTable } from "./key-table.ts";
import { KeyTables } from "./key-tables.ts";
import { createSlots, type Slot, type SlotKind } from "./slots.ts";

/** An index of topics by their filters: finds the topics that an event belongs to. */
export interface Picker {
  /** Adds or replaces a topic. Throws FilterSyntaxError and changes nothing then. */
  set(externalId: string, filters: FilterTexts): void;
  /** Returns whether the topic was there. */
  delete(externalId: string): boolean;
  /** Returns the external ids of the topics that an event belongs to, each once, in no particular order. */
  pick(event: unknown): string[];
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
  readonly #slots = createSlots();
  readonly #tables = new KeyTables();
  readonly #checks = createChecks();
  readonly #eventValues = createEventValues();

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

  pick(event: unknown): string[] {
    const picked = this.#unconditional.slice();
    const [topics, checks, eventValues] = [this.#topics, this.#checks, this.#eventValues];
    eventValues.read(this.#slots, event);
    checks.read(event);
    this.#tables.find(eventValues, (number) => {
      const topic = topics[number];
      if (topic === undefined) return;
      if (eventValues.hasLists() && topic.lastEventNumber === eventValues.eventNumber()) return;
      topic.lastEventNumber = eventValues.eventNumber();
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
    const parts = keyParts.map(({ path, kind, values }) => ({
      slot: this.#slots.acquire(path, kind),
      values,
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
      for (const [at, value] of key.entries()) table.slots[at]?.values.release(value);
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

/** What one condition adds to a topic's keys: one of the values, at the path. */
interface KeyPart {
  readonly path: readonly string[];
  readonly kind: SlotKind;
  readonly values: readonly string[];
}

/** A topic has at most this many keys, unless a single condition has more alternatives. */
const maxKeysPerTopic = 64;

/**
 * Splits conditions (at least one) into those that make the keys and those to check afterwards. Equalities
 * make the keys, those with the fewest alternatives first. A topic without any is found by having a value at
 * its first path.
 */
function planKeys(conditions: readonly RootedCondition[]): {
  keyParts: readonly KeyPart[];
  checked: readonly RootedCondition[];
} {
  const equalities: (KeyPart & { readonly condition: RootedCondition })[] = [];
  for (const condition of conditions) {
    const { path, operator, values } = condition;
    if (operator !== "eq") continue;
    const distinct = values.length === 1 ? values : [...new Set(values)];
    equalities.push({ path, kind: "equal", values: distinct, condition });
  }
  equalities.sort((a, b) => a.values.length - b.values.length);
  let keyed = 0;
  let keyCount = 1;
  for (const { values } of equalities) {
    if (keyed > 0 && keyCount * values.length > maxKeysPerTopic) break;
    keyCount *= values.length;
    keyed += 1;
  }
  if (keyed === conditions.length) return { keyParts: equalities, checked: [] };
  const keyParts = equalities.slice(0, keyed);
  const inKeys = new Set(keyParts.map(({ condition }) => condition));
  const [first] = conditions;
  return {
    keyParts:
      keyed > 0 || first === undefined ? keyParts : [{ path: first.path, kind: "present", values: [""] }],
    checked: conditions.filter((condition) => !inKeys.has(condition)),
  };
}

interface SlotValues {
  readonly slot: Slot;
  readonly values: readonly string[];
}

/** Adds an entry for every way to take one value of each part. Returns the last one. */
function addKeys(table: KeyTable, parts: readonly SlotValues[], topic: number): number {
  const chosen = parts.map(({ values: [first = ""] }) => first);
  let lastEntry = 0;

  function choose(from: number): void {
    const part = parts[from];
    if (part === undefined) {
      const key = parts.map(({ slot }, at) => slot.values.acquire(chosen[at] ?? ""));
      lastEntry = table.add(key, topic, lastEntry);
      return;
    }
    for (const value of part.values) {
      chosen[from] = value;
      choose(from + 1);
    }
  }

  choose(0);
  return lastEntry;
}
