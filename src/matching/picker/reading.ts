import type { Slots, SlotsHere } from "./slots.ts";

/** What the event at hand has for the slots in use. One is used for event after event, so that reading makes no garbage. */
export interface Reading {
  read(slots: Slots, event: unknown): void;
  /** The slots that the event has a known value for. */
  readonly touched: readonly number[];
  /** The first value of a slot; 0 for none. */
  first(slot: number): number;
  /** Whether a value is among a slot's. */
  readonly has: (slot: number, value: number) => boolean;
  /** All values of a slot that has more than one. */
  several(slot: number): readonly number[] | undefined;
  /** Whether any slot has more than one value: a topic may be found by several keys then. */
  hasSeveral(): boolean;
  /** Counts the events that were read. */
  number(): number;
}

/** Values, each once. The set has the same ones; only long lists have it. */
interface Distinct {
  readonly values: number[];
  set: Set<number> | undefined;
}

const minValuesForSet = 16;

function addDistinct(known: Distinct, value: number): void {
  const { values, set } = known;
  if (set === undefined ? values.includes(value) : set.has(value)) return;
  values.push(value);
  if (set !== undefined) set.add(value);
  else if (values.length === minValuesForSet) known.set = new Set(values);
}

/** Nothing was read yet. */
export function createReading(): Reading {
  let values = new Int32Array(16);
  const touched: number[] = [];
  const more = new Map<number, Distinct>();
  let number = 0;

  function found(slot: number, value: number): void {
    if (slot >= values.length) {
      const larger = new Int32Array(2 * slot);
      larger.set(values);
      values = larger;
    }
    const first = values[slot] ?? 0;
    if (first === 0) {
      values[slot] = value;
      touched.push(slot);
      return;
    }
    if (first === value) return;
    const known = more.get(slot);
    if (known === undefined) more.set(slot, { values: [first, value], set: undefined });
    else addDistinct(known, value);
  }

  function visit({ equal, present }: SlotsHere, text: string): void {
    if (present !== undefined) found(present.number, 1);
    if (equal === undefined) return;
    const value = equal.values.find(text);
    if (value !== 0) found(equal.number, value);
  }

  return {
    read(slots, event) {
      for (const slot of touched) values[slot] = 0;
      touched.length = 0;
      if (more.size > 0) more.clear();
      number += 1;
      slots.walk(event, visit);
    },
    touched,
    first: (slot) => values[slot] ?? 0,
    has(slot, value) {
      if (values[slot] === value) return true;
      const known = more.get(slot);
      return known !== undefined && (known.set?.has(value) ?? known.values.includes(value));
    },
    several: (slot) => more.get(slot)?.values,
    hasSeveral: () => more.size > 0,
    number: () => number,
  };
}
