import type { EventRecord } from "../filter/record.ts";
import { readFilters, type FilterTexts, type RootedCondition } from "../filter/topic-filters.ts";
import { Checks, type Check } from "./checks.ts";
import { EventValues } from "./event-values.ts";
import { planKeys } from "./key-plan.ts";
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

/** A picker that also counts. */
export interface CountingPicker extends Picker {
  /** Counts a match of each topic that the last call of `pick` returned. */
  countPicked(): void;
  /** Counts matches of a topic; nothing if the topic is not there. */
  count(externalId: string, matches: number): void;
  /** Yields the topics that were counted since they were yielded last. */
  takeCounts(): Iterable<MatchCount>;
}

/** A topic with conditions. */
interface KeyedTopic {
  readonly externalId: string;
  readonly number: number;
  readonly table: KeyTable;
  readonly lastEntry: number;
  readonly checks: readonly Check[];
  /** Skipped if the values in the slot are doubles: then the key says the same. */
  readonly rangeChecks: readonly Check[] | undefined;
  readonly hasSeveralKeys: boolean;
  /** The last event that found it, if it has several keys: an event with lists may find it by each. */
  lastEventNumber: number;
}

const noChecks: readonly Check[] = [];

/** Creates an empty picker. */
export const createPicker = (): Picker => new KeyedPicker();

export const createCountingPicker = (): CountingPicker => new KeyedPicker();

/**
 * A topic is found by its keys: the values of all its equalities, one alternative of each. Topics whose keys
 * use the same paths share a hash table. An event is walked once along the paths in use, and each table whose
 * paths it has is asked once. The cost is that of the tables and matches, not of all topics. Ranges and
 * negations are checked for the topics that a key has found (ARCHITECTURE.md, "An event").
 */
class KeyedPicker implements CountingPicker {
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
  readonly #counts = new MatchCounts();
  /** The counts of topics without conditions, in their order. */
  readonly #unconditionalCounts: number[] = [];
  /** The numbers of the topics with conditions that were picked last. */
  readonly #picked: number[] = [];

  set(externalId: string, filters: FilterTexts): void {
    const conditions = readFilters(filters);
    const matches = this.#takeCount(externalId);
    this.delete(externalId);
    this.#add(externalId, conditions);
    if (matches > 0) this.count(externalId, matches);
  }

  delete(externalId: string): boolean {
    const topic = this.#byExternalId.get(externalId);
    if (topic === undefined) return false;
    this.#takeCount(externalId);
    this.#byExternalId.delete(externalId);
    if (typeof topic === "number") this.#removeUnconditional(topic);
    else this.#removeKeyed(topic);
    return true;
  }

  pick(event: unknown, record?: EventRecord): string[] {
    const picked = this.#unconditional.slice();
    const [topics, checks, eventValues] = [this.#topics, this.#checks, this.#eventValues];
    const numbers = this.#picked;
    numbers.length = 0;
    eventValues.read(this.#slots, event, record);
    checks.read(event, record);
    this.#tables.find(eventValues, (number) => {
      const topic = topics[number];
      if (topic === undefined) return;
      if (topic.hasSeveralKeys) {
        if (topic.lastEventNumber === eventValues.number) return;
        topic.lastEventNumber = eventValues.number;
      }
      for (const check of topic.checks) if (!checks.passes(check)) return;
      if (topic.rangeChecks !== undefined && topic.table.slots[0]?.hasDoubles() !== true)
        for (const check of topic.rangeChecks) if (!checks.passes(check)) return;
      picked.push(topic.externalId);
      numbers.push(number);
    });
    return picked;
  }

  countPicked(): void {
    for (const number of this.#picked) this.#counts.add(number, 1, this.#topics.length);
    this.#picked.length = 0;
    const counts = this.#unconditionalCounts;
    for (let at = 0; at < counts.length; at += 1) counts[at] = (counts[at] ?? 0) + 1;
  }

  count(externalId: string, matches: number): void {
    const topic = this.#byExternalId.get(externalId);
    if (topic === undefined) return;
    if (typeof topic !== "number") this.#counts.add(topic.number, matches, this.#topics.length);
    else this.#unconditionalCounts[topic] = (this.#unconditionalCounts[topic] ?? 0) + matches;
  }

  *takeCounts(): Generator<MatchCount, void, undefined> {
    for (const externalId of this.#unconditional.slice()) {
      const matches = this.#takeCount(externalId);
      if (matches > 0) yield { externalId, matches };
    }
    for (let number = 0; number < this.#topics.length; number += 1) {
      const matches = this.#counts.take(number);
      const topic = this.#topics[number];
      if (matches > 0 && topic !== undefined) yield { externalId: topic.externalId, matches };
    }
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
      this.#unconditionalCounts.push(0);
      return;
    }
    const { keyParts, checked, inRange } = planKeys(conditions);
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
      hasSeveralKeys: parts.some(({ alternatives: { length } }) => length > 1),
      checks: this.#addChecks(checked),
      rangeChecks: inRange && this.#addChecks(inRange),
      lastEventNumber: 0,
    };
    this.#topics[number] = topic;
    this.#byExternalId.set(externalId, topic);
  }

  #addChecks(conditions: readonly RootedCondition[]): readonly Check[] {
    return conditions.length === 0 ? noChecks : conditions.map((condition) => this.#checks.add(condition));
  }

  #removeKeyed({ number, table, lastEntry, checks, rangeChecks }: KeyedTopic): void {
    table.remove(lastEntry, (key) => {
      for (const [at, value] of key.entries()) table.slots[at]?.release(value);
    });
    for (const slot of table.slots) this.#slots.release(slot);
    for (const check of checks) this.#checks.remove(check);
    for (const check of rangeChecks ?? []) this.#checks.remove(check);
    this.#topics[number] = undefined;
    this.#freeNumbers.push(number);
    if (table.isEmpty()) this.#tables.delete(table);
  }

  #takeCount(externalId: string): number {
    const topic = this.#byExternalId.get(externalId);
    if (topic === undefined) return 0;
    if (typeof topic !== "number") return this.#counts.take(topic.number);
    const matches = this.#unconditionalCounts[topic] ?? 0;
    this.#unconditionalCounts[topic] = 0;
    return matches;
  }

  /** Moves the last one into the gap. */
  #removeUnconditional(at: number): void {
    const last = this.#unconditional.pop();
    const matches = this.#unconditionalCounts.pop();
    if (last === undefined || at === this.#unconditional.length) return;
    this.#unconditional[at] = last;
    this.#unconditionalCounts[at] = matches ?? 0;
    this.#byExternalId.set(last, at);
  }
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
