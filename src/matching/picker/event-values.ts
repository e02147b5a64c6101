import { isNumber, printScalar, type Scalar } from "../filter/match.ts";
import type { EventRecord } from "../filter/record.ts";
import { isFalse, isTrue, type Slot, type Slots, type SlotsOfPath } from "./slots.ts";

/**
 * The values that the current event has in each slot. Reused for every event, so that reading creates no
 * garbage.
 */
export interface EventValues {
  read(slots: Slots, event: unknown, record: EventRecord | undefined): void;
  /** The slots that have a value. */
  readonly slots: readonly number[];
  /** The first value of a slot; 0 for none. */
  first(slot: number): number;
  readonly has: (slot: number, value: number) => boolean;
  /** All values of a slot that has more than one; undefined for every other slot. */
  all(slot: number): readonly number[] | undefined;
  /** Whether any slot has more than one value: a topic may then be found by several keys. */
  hasLists(): boolean;
  /** A number that no other event had. */
  eventNumber(): number;
}

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

export function createEventValues(): EventValues {
  let firstValues = new Int32Array(16);
  const filledSlots: number[] = [];
  const lists = new Map<number, ValueSet>();
  /** The slots of kind "range" at whose paths the event has values. */
  const rangeSlots: Slot[] = [];
  let eventNumber = 0;

  function add(slot: number, value: number): void {
    if (slot >= firstValues.length) {
      const larger = new Int32Array(2 * slot);
      larger.set(firstValues);
      firstValues = larger;
    }
    const first = firstValues[slot] ?? 0;
    if (first === 0) {
      firstValues[slot] = value;
      filledSlots.push(slot);
      return;
    }
    if (first === value) return;
    const list = lists.get(slot);
    if (list === undefined) lists.set(slot, { values: [first, value], set: undefined });
    else addValue(list, value);
  }

  function visit({ equal, pattern, range, present, absent }: SlotsOfPath, scalar: Scalar | undefined): void {
    if (present !== undefined) add(present.number, isTrue);
    if (absent !== undefined) add(absent.number, isFalse);
    if (scalar === undefined) return;
    const text = printScalar(scalar);
    if (equal !== undefined) {
      const value = equal.findText(text);
      if (value !== 0) add(equal.number, value);
      const numberValue = isNumber(scalar) ? equal.findNumber(text) : 0;
      if (numberValue !== 0) add(equal.number, numberValue);
    }
    pattern?.findPatterns(text, (value) => {
      add(pattern.number, value);
    });
    if (range?.addToRanges(text) === true) rangeSlots.push(range);
  }

  /** Called once all values are known, as each bound of a range may be satisfied by another one. */
  function addRanges(): void {
    for (const slot of rangeSlots) {
      slot.findRanges((value) => {
        add(slot.number, value);
      });
    }
    rangeSlots.length = 0;
  }

  return {
    read(slots, event, record) {
      for (const slot of filledSlots) firstValues[slot] = 0;
      filledSlots.length = 0;
      if (lists.size > 0) lists.clear();
      eventNumber += 1;
      slots.walk(event, record, visit);
      if (rangeSlots.length > 0) addRanges();
      for (const slot of slots.absences) if ((firstValues[slot] ?? 0) === 0) add(slot, isTrue);
    },
    slots: filledSlots,
    first: (slot) => firstValues[slot] ?? 0,
    has(slot, value) {
      if (firstValues[slot] === value) return true;
      const list = lists.get(slot);
      return list !== undefined && (list.set?.has(value) ?? list.values.includes(value));
    },
    all: (slot) => lists.get(slot)?.values,
    hasLists: () => lists.size > 0,
    eventNumber: () => eventNumber,
  };
}
