import type { EventValues } from "./event-values.ts";
import { KeyTable } from "./key-table.ts";
import type { Slot } from "./slots.ts";

/** The key tables, one for each combination of slots. */
export class KeyTables {
  readonly #byName = new Map<string, KeyTable>();
  /**
   * By slot number. Each table is listed under one of its slots: an event without a value there cannot match.
   */
  readonly #tablesBySlot: KeyTable[][] = [];
  /** Often the next topic has a key of the same slots. */
  #latest: KeyTable | undefined;
  /** Reused for every look-up. */
  #key = new Int32Array(16);

  /** Returns the table for keys of the slots of these parts, in this order. */
  getOrAdd(parts: readonly { readonly slot: Slot }[]): KeyTable {
    if (this.#latest !== undefined && hasSlots(this.#latest, parts)) return this.#latest;
    const slots = parts.map(({ slot }) => slot);
    const name = formatName(slots);
    const known = this.#byName.get(name);
    if (known !== undefined) return (this.#latest = known);
    const table = new KeyTable(slots);
    this.#latest = table;
    this.#byName.set(name, table);
    const [first = 0, ...others] = slots.map(({ number }) => number);
    const count = (slot: number): number => this.#tablesBySlot[slot]?.length ?? 0;
    const fewest = others.reduce((best, one) => (count(one) < count(best) ? one : best), first);
    const tables = this.#tablesBySlot[fewest];
    // An array literal of one takes a tenth of the memory of one that grows.
    if (tables === undefined) this.#tablesBySlot[fewest] = [table];
    else tables.push(table);
    if (slots.length > this.#key.length) this.#key = new Int32Array(slots.length);
    return table;
  }

  delete(table: KeyTable): void {
    this.#latest = undefined;
    this.#byName.delete(formatName(table.slots));
    for (const { number } of table.slots) {
      const at = this.#tablesBySlot[number]?.indexOf(table) ?? -1;
      if (at >= 0) this.#tablesBySlot[number]?.splice(at, 1);
    }
  }

  /**
   * Calls back with the topics whose key the event has. Per table: at most one look-up for each key that the
   * event can form, and at most one scan of the table, whichever is less.
   */
  find(event: EventValues, onTopic: (topic: number) => void): void {
    for (const slot of event.slots) {
      for (const table of this.#tablesBySlot[slot] ?? []) this.#findInTable(table, event, onTopic);
    }
  }

  #findInTable(table: KeyTable, event: EventValues, onTopic: (topic: number) => void): void {
    if (table.slots.length === 1) {
      this.#findInNarrowTable(table, event, onTopic);
      return;
    }
    if (event.hasLists()) {
      const keyCount = countKeys(table, event);
      if (keyCount === 0) return;
      if (keyCount > table.scanLength()) {
        table.scan(event.has, onTopic);
        return;
      }
    }
    this.#findKeys(table, 0, event, onTopic);
  }

  /** Each value of its slot is a key. */
  #findInNarrowTable(table: KeyTable, event: EventValues, onTopic: (topic: number) => void): void {
    const slot = table.slots[0]?.number ?? 0;
    const values = event.hasLists() ? event.all(slot) : undefined;
    const key = this.#key;
    if (values === undefined) {
      key[0] = event.first(slot);
      table.find(key, onTopic);
    } else if (values.length > table.scanLength()) table.scan(event.has, onTopic);
    else {
      for (const value of values) {
        key[0] = value;
        table.find(key, onTopic);
      }
    }
  }

  /** Looks up every key that the event can form, from the given slot on. */
  #findKeys(table: KeyTable, from: number, event: EventValues, onTopic: (topic: number) => void): void {
    const key = this.#key;
    for (let at = from; at < table.slots.length; at += 1) {
      const slot = table.slots[at]?.number ?? 0;
      const values = event.hasLists() ? event.all(slot) : undefined;
      if (values !== undefined) {
        for (const value of values) {
          key[at] = value;
          this.#findKeys(table, at + 1, event, onTopic);
        }
        return;
      }
      const value = event.first(slot);
      if (value === 0) return;
      key[at] = value;
    }
    table.find(key, onTopic);
  }
}

/** The number of keys that an event can form; Infinity if it is beyond what a number holds. */
function countKeys({ slots }: KeyTable, event: EventValues): number {
  let count = 1;
  for (const { number } of slots) {
    if (event.first(number) === 0) return 0;
    count *= event.all(number)?.length ?? 1;
  }
  return count;
}

function hasSlots({ slots }: KeyTable, parts: readonly { readonly slot: Slot }[]): boolean {
  if (slots.length !== parts.length) return false;
  for (let at = 0; at < parts.length; at += 1) if (slots[at] !== parts[at]?.slot) return false;
  return true;
}

const formatName = (slots: readonly Slot[]): string => slots.map(({ number }) => number).join();
