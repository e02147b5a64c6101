import { isNumber, printScalar, type Scalar } from "../filter/match.ts";
import type { EventRecord } from "../filter/record.ts";
import { isFalse, isTrue, type Slot, type Slots, type SlotsOfPath } from "./slots.ts";

/** Distinct values in the event's order. Long lists have a set of them as well. */
interface ValueSet {
  readonly values: number[];
  set: Set<number> | undefined;
}

const minValuesForSet = 16;

function addValue(known: ValueSet, value: number): void {
  const { values, set } = known;
  if (set === undefined ? values.includes(value) : set.has(value)) return;
  values.push(value);
  if (set !== undefined) set.add(value);
  else if (values.length === minValuesForSet) known.set = new Set(values);
}

/**
 * The values that the current event has in each slot. Reused for every event, so that reading creates no
 * garbage.
 */
export class EventValues {
  /** The slots that have a value. */
  readonly slots: number[] = [];
  /** A number that no other event had. */
  number = 0;
  /** How often a time in a filter was compared with values that are no times. */
  missedTimes = 0;
  #firstValues = new Int32Array(16);
  readonly #lists = new Map<number, ValueSet>();
  /** The slots of kind "range" at whose paths the event has values. */
  readonly #rangeSlots: Slot[] = [];

  read(slots: Slots, event: unknown, record: EventRecord | undefined): void {
    for (const slot of this.slots) this.#firstValues[slot] = 0;
    this.slots.length = 0;
    if (this.#lists.size > 0) this.#lists.clear();
    this.number += 1;
    slots.tree.walk(event, record, this.#visit);
    if (this.#rangeSlots.length > 0) this.#addRanges();
    for (const slot of slots.absences) if (this.first(slot) === 0) this.#add(slot, isTrue);
  }

  /** The first value of a slot; 0 for none. */
  first(slot: number): number {
    return this.#firstValues[slot] ?? 0;
  }

  readonly has = (slot: number, value: number): boolean => {
    if (this.#firstValues[slot] === value) return true;
    const list = this.#lists.get(slot);
    return list !== undefined && (list.set?.has(value) ?? list.values.includes(value));
  };

  /** All values of a slot that has more than one; undefined for every other slot. */
  all(slot: number): readonly number[] | undefined {
    return this.#lists.get(slot)?.values;
  }

  /** Whether any slot has more than one value: a topic may then be found by several keys. */
  hasLists(): boolean {
    return this.#lists.size > 0;
  }

  readonly #visit = (
    { equal, pattern, range, present, absent }: SlotsOfPath,
    scalar: Scalar | undefined,
  ): void => {
    if (present !== undefined) this.#add(present.number, isTrue);
    if (absent !== undefined) this.#add(absent.number, isFalse);
    if (scalar === undefined) return;
    if (range?.ranges?.addValue(scalar) === true) this.#rangeSlots.push(range);
    if (equal === undefined && pattern === undefined) return;
    const text = printScalar(scalar);
    if (equal !== undefined) {
      const value = equal.findText(text);
      if (value !== 0) this.#add(equal.number, value);
      const numberValue = isNumber(scalar) ? equal.findNumber(text) : 0;
      if (numberValue !== 0) this.#add(equal.number, numberValue);
    }
    pattern?.patterns?.find(text, (value) => {
      this.#add(pattern.number, value);
    });
  };

  /** Called once all values are known, as each bound of a range may be satisfied by another one. */
  #addRanges(): void {
    for (const slot of this.#rangeSlots) {
      slot.ranges?.find((value) => {
        this.#add(slot.number, value);
      });
      if (slot.ranges?.takeMissedTimes() === true) this.missedTimes += 1;
    }
    this.#rangeSlots.length = 0;
  }

  #add(slot: number, value: number): void {
    if (slot >= this.#firstValues.length) {
      const larger = new Int32Array(2 * slot);
      larger.set(this.#firstValues);
      this.#firstValues = larger;
    }
    const first = this.#firstValues[slot] ?? 0;
    if (first === 0) {
      this.#firstValues[slot] = value;
      this.slots.push(slot);
      return;
    }
    if (first === value) return;
    const list = this.#lists.get(slot);
    if (list === undefined) this.#lists.set(slot, { values: [first, value], set: undefined });
    else addValue(list, value);
  }
}
