import type { EventValues } from "./event-values.ts";
import { createKeyTable, type KeyTable } from "./key-table.ts";
import type { Slot } from "./slots.ts";

/** The key tables, one for each combination of slots. */
export interface KeyTables {
  /** Returns the table for keys of these slots, in this order. */
  getOrAdd(slots: readonly Slot[]): KeyTable;
  delete(table: KeyTable): void;
  /**
   * Calls back with the topics whose key the event has. Per table: at most one look-up for each key that the
   * event can form, and at most one scan of the table, whichever is less.
   */
  find(event: EventValues, onTopic: (topic: number) => void): void;
}

export function createKeyTables(): KeyTables {
  const byName = new Map<string, KeyTable>();
  /**
   * By slot number. Each table is listed under one of its slots: an event without a value there cannot match.
   */
  const tablesBySlot: KeyTable[][] = [];
  /** Reused for every look-up. */
  let key = new Int32Array(16);

  /** Looks up every key that the event can form, from the given slot on. */
  function findKeys(
    table: KeyTable,
    from: number,
    event: EventValues,
    onTopic: (topic: number) => void,
  ): void {
    for (let at = from; at < table.slots.length; at += 1) {
      const slot = table.slots[at]?.number ?? 0;
      const values = event.hasLists() ? event.all(slot) : undefined;
      if (values !== undefined) {
        for (const value of values) {
          key[at] = value;
          findKeys(table, at + 1, event, onTopic);
        }
        return;
      }
      const value = event.first(slot);
      if (value === 0) return;
      key[at] = value;
    }
    table.find(key, onTopic);
  }

  function findInTable(table: KeyTable, event: EventValues, onTopic: (topic: number) => void): void {
    if (event.hasLists()) {
      const keyCount = countKeys(table, event);
      if (keyCount === 0) return;
      if (keyCount > table.scanLength()) {
        table.scan(event.has, onTopic);
        return;
      }
    }
    findKeys(table, 0, event, onTopic);
  }

  return {
    getOrAdd(slots) {
      const name = formatName(slots);
      const known = byName.get(name);
      if (known !== undefined) return known;
      const table = createKeyTable(slots);
      byName.set(name, table);
      const lists = slots.map(({ number }) => (tablesBySlot[number] ??= []));
      lists.reduce((shortest, one) => (one.length < shortest.length ? one : shortest)).push(table);
      if (slots.length > key.length) key = new Int32Array(slots.length);
      return table;
    },
    delete(table) {
      byName.delete(formatName(table.slots));
      for (const { number } of table.slots) {
        const at = tablesBySlot[number]?.indexOf(table) ?? -1;
        if (at >= 0) tablesBySlot[number]?.splice(at, 1);
      }
    },
    find(event, onTopic) {
      for (const slot of event.slots) {
        for (const table of tablesBySlot[slot] ?? []) findInTable(table, event, onTopic);
      }
    },
  };
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

const formatName = (slots: readonly Slot[]): string => slots.map(({ number }) => number).join();
