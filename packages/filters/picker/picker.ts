import { Numbering } from "../filter/numbering.ts";
import type { EventRecord } from "../filter/record.ts";
import { readFilters, type FilterTexts, type RootedCondition } from "../filter/topic-filters.ts";
import { TopicNamespaces } from "./namespaces.ts";
import { Checks, type Check } from "./checks.ts";
import { EventValues } from "./event-values.ts";
import { planKeys, sortFew } from "./key-plan.ts";
import type { KeyTable } from "./key-table.ts";
import { KeyTables } from "./key-tables.ts";
import { MatchCounts } from "./match-counts.ts";
import { Slots, type Alternative, type Slot } from "./slots.ts";

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

/** How often a topic has matched. */
export interface MatchCount {
  readonly externalId: string;
  readonly matches: number;
}

/** What a counting picker keeps of a topic. */
interface PickedTopic extends FilterTexts {
  readonly namespace?: string;
}

/** A picker that also counts, and knows the namespaces of topics. */
export interface CountingPicker extends Picker {
  set(externalId: string, topic: PickedTopic): void;
  /** The namespace of a topic; "" if it has none or is unknown. */
  getNamespace(externalId: string): string;
  /** Counts a match of each topic that the last call of `pick` returned. */
  countPicked(): void;
  /** Counts matches of a topic; nothing if the topic is not there. */
  count(externalId: string, matches: number): void;
  /** Yields the topics that were counted since they were yielded last. */
  takeCounts(): Iterable<MatchCount>;
  /** How often a time in a filter was compared with values that are no times, since the last call. */
  takeMissedTimes(): number;
}

/** What is checked of a topic that a key has found. */
interface TopicChecks {
  readonly checks: readonly Check[];
  /** Skipped if the values in the slot are doubles: then the key says the same. */
  readonly rangeChecks: readonly Check[];
}

const noChecks: readonly Check[] = [];
/** In the place of the last event, for a topic with one key, which is found once. */
const hasOneKey = -1;

/** Creates an empty picker. */
export const createPicker = (): Picker => new KeyedPicker();

export const createCountingPicker = (): CountingPicker => new KeyedPicker();

/**
 * A topic is found by its keys: the values of all its equalities, one alternative of each. Topics whose keys
 * use the same paths share a hash table. An event is walked once along the paths in use, and each table whose
 * paths it has is asked once. The cost is that of the tables and matches, not of all topics. Ranges and
 * negations are checked for the topics that a key has found (ARCHITECTURE.md, "An event").
 *
 * Topics are numbers, and lists by number hold what is known of them: an object for each of a million topics
 * would take longer to collect garbage around than the topic to add.
 */
class KeyedPicker implements CountingPicker {
  /** Numbers the topics by their external ids. */
  readonly #numbering = new Numbering();
  // By topic number, as stored in the key tables:
  readonly #externalIds: string[] = [""];
  /** Undefined for a topic without conditions. */
  readonly #tableOf: (KeyTable | undefined)[] = [];
  /** The topic's last entry in its table, or its index in `#unconditional`. */
  readonly #places: number[] = [];
  readonly #checksOf: (TopicChecks | undefined)[] = [];
  /** The last event that found it: an event with lists may find it by each of several keys. */
  readonly #lastEvents: number[] = [];
  readonly #namespaces = new TopicNamespaces();
  readonly #counts = new MatchCounts();
  /** The external ids of topics without conditions, and their numbers. */
  readonly #unconditional: string[] = [];
  readonly #unconditionalNumbers: number[] = [];
  readonly #slots = new Slots();
  readonly #tables = new KeyTables();
  readonly #checks = new Checks();
  readonly #eventValues = new EventValues();
  /** The numbers of the topics with conditions that were picked last. */
  readonly #picked: number[] = [];

  set(externalId: string, topic: PickedTopic): void {
    const conditions = readFilters(topic);
    const { number, isNew } = this.#numbering.acquire(externalId);
    if (isNew) this.#externalIds[number] = externalId;
    else {
      this.#numbering.release(number);
      this.#remove(number);
    }
    this.#namespaces.set(number, topic.namespace ?? "");
    if (conditions.length > 0) this.#add(number, conditions);
    else this.#addUnconditional(number);
  }

  delete(externalId: string): boolean {
    const number = this.#numbering.find(externalId);
    if (number === 0) return false;
    this.#remove(number);
    this.#counts.take(number);
    this.#namespaces.delete(number);
    this.#numbering.release(number);
    this.#externalIds[number] = "";
    return true;
  }

  pick(event: unknown, record?: EventRecord): string[] {
    const picked = this.#unconditional.slice();
    const [externalIds, checksOf, eventValues] = [this.#externalIds, this.#checksOf, this.#eventValues];
    const numbers = this.#picked;
    numbers.length = 0;
    eventValues.read(this.#slots, event, record);
    this.#checks.read(event, record);
    const hasLists = eventValues.hasLists();
    this.#tables.find(eventValues, (number) => {
      if (hasLists && this.#isRepeated(number)) return;
      const checks = checksOf[number];
      if (checks !== undefined && !this.#passes(checks, number)) return;
      picked.push(externalIds[number] ?? "");
      numbers.push(number);
    });
    return picked;
  }

  countPicked(): void {
    const topics = this.#externalIds.length;
    for (const number of this.#picked) this.#counts.add(number, 1, topics);
    this.#picked.length = 0;
    for (const number of this.#unconditionalNumbers) this.#counts.add(number, 1, topics);
  }

  count(externalId: string, matches: number): void {
    const number = this.#numbering.find(externalId);
    if (number !== 0) this.#counts.add(number, matches, this.#externalIds.length);
  }

  *takeCounts(): Generator<MatchCount, void, undefined> {
    for (let number = 0; number < this.#externalIds.length; number += 1) {
      const matches = this.#counts.take(number);
      if (matches > 0) yield { externalId: this.#externalIds[number] ?? "", matches };
    }
  }

  takeMissedTimes(): number {
    const missed = this.#eventValues.missedTimes + this.#checks.missedTimes;
    this.#eventValues.missedTimes = 0;
    this.#checks.missedTimes = 0;
    return missed;
  }

  getNamespace(externalId: string): string {
    return this.#namespaces.size === 0 ? "" : this.#namespaces.get(this.#numbering.find(externalId));
  }

  get size(): number {
    return this.#numbering.size;
  }

  get unconditional(): number {
    return this.#unconditional.length;
  }

  /** Whether the current event has found a topic before. */
  #isRepeated(number: number): boolean {
    const last = this.#lastEvents[number];
    if (last === hasOneKey) return false;
    if (last === this.#eventValues.number) return true;
    this.#lastEvents[number] = this.#eventValues.number;
    return false;
  }

  #passes({ checks, rangeChecks }: TopicChecks, number: number): boolean {
    for (const check of checks) if (!this.#checks.passes(check)) return false;
    if (rangeChecks.length === 0 || this.#tableOf[number]?.slots[0]?.ranges?.hasDoubles() === true)
      return true;
    for (const check of rangeChecks) if (!this.#checks.passes(check)) return false;
    return true;
  }

  #add(number: number, conditions: readonly RootedCondition[]): void {
    const { keyParts, checked, inRange = [] } = planKeys(conditions);
    const parts: SlotAlternatives[] = [];
    let hasSeveralKeys = false;
    for (const { place, kind, alternatives } of keyParts) {
      parts.push({ slot: this.#slots.acquire(place, kind), alternatives });
      if (alternatives.length > 1) hasSeveralKeys = true;
    }
    sortFew(parts, compareSlots);
    const table = this.#tables.getOrAdd(parts);
    this.#tableOf[number] = table;
    this.#places[number] = addKeys(table, parts, number);
    this.#checksOf[number] =
      checked.length + inRange.length === 0
        ? undefined
        : { checks: this.#addChecks(checked), rangeChecks: this.#addChecks(inRange) };
    this.#lastEvents[number] = hasSeveralKeys ? 0 : hasOneKey;
  }

  #addUnconditional(number: number): void {
    this.#tableOf[number] = undefined;
    this.#checksOf[number] = undefined;
    this.#lastEvents[number] = hasOneKey;
    this.#places[number] = this.#unconditional.push(this.#externalIds[number] ?? "") - 1;
    this.#unconditionalNumbers.push(number);
  }

  #addChecks(conditions: readonly RootedCondition[]): readonly Check[] {
    return conditions.length === 0 ? noChecks : conditions.map((condition) => this.#checks.add(condition));
  }

  /** Removes the filters of a topic. */
  #remove(number: number): void {
    const table = this.#tableOf[number];
    const place = this.#places[number] ?? 0;
    if (table === undefined) this.#removeUnconditional(place);
    else this.#removeKeys(table, place);
    const checks = this.#checksOf[number];
    for (const check of checks?.checks ?? []) this.#checks.remove(check);
    for (const check of checks?.rangeChecks ?? []) this.#checks.remove(check);
    this.#tableOf[number] = undefined;
    this.#checksOf[number] = undefined;
  }

  #removeKeys(table: KeyTable, lastEntry: number): void {
    table.remove(lastEntry, (key) => {
      for (const [at, value] of key.entries()) table.slots[at]?.release(value);
    });
    for (const slot of table.slots) this.#slots.release(slot);
    if (table.isEmpty()) this.#tables.delete(table);
  }

  /** Moves the last one into the gap. */
  #removeUnconditional(at: number): void {
    const externalId = this.#unconditional.pop();
    const number = this.#unconditionalNumbers.pop();
    if (externalId === undefined || number === undefined || at === this.#unconditional.length) return;
    this.#unconditional[at] = externalId;
    this.#unconditionalNumbers[at] = number;
    this.#places[number] = at;
  }
}

interface SlotAlternatives {
  readonly slot: Slot;
  readonly alternatives: readonly Alternative[];
}

const compareSlots = (one: SlotAlternatives, other: SlotAlternatives): number =>
  one.slot.number - other.slot.number;

/** Adds an entry for every way to take one alternative of each part. Returns the last one. */
function addKeys(table: KeyTable, parts: readonly SlotAlternatives[], topic: number): number {
  const key: number[] = [];
  let ways = 1;
  for (const { alternatives } of parts) {
    ways *= alternatives.length;
    key.push(0);
  }
  let lastEntry = 0;
  for (let way = 0; way < ways; way += 1) {
    let rest = way;
    for (let at = 0; at < parts.length; at += 1) {
      const part = parts[at];
      const alternative = part?.alternatives[rest % part.alternatives.length];
      if (part === undefined || alternative === undefined) continue;
      key[at] = part.slot.acquire(alternative);
      rest = Math.trunc(rest / part.alternatives.length);
    }
    lastEntry = table.add(key, topic, lastEntry);
  }
  return lastEntry;
}
