import { createPathTree } from "../filter/path-tree.ts";

/** "equal": the slot's value is the text at the path. "present": its value is 1 if there is any text. */
export type SlotKind = "equal" | "present";

/** A path that keys are made of. Its values are numbered, so that a key is a few integers. */
export interface Slot {
  readonly number: number;
  readonly path: readonly string[];
  readonly kind: SlotKind;
  readonly values: ValueNumbers;
}

/** The paths that keys are made of, counted by use. */
export interface Slots {
  acquire(path: readonly string[], kind: SlotKind): Slot;
  release(slot: Slot): void;
  /** Calls back with every value that an event has at a path of slots. */
  walk(event: unknown, visit: (slots: SlotsOfPath, text: string) => void): void;
}

export type SlotsOfPath = Readonly<Record<SlotKind, Slot | undefined>>;
type CountedSlots = Record<SlotKind, (Slot & { uses: number }) | undefined>;

export function createSlots(): Slots {
  const tree = createPathTree<CountedSlots>();
  const free: number[] = [];
  let count = 0;

  return {
    acquire(path, kind) {
      const slot = (tree.getOrAdd(path, () => ({ equal: undefined, present: undefined }))[kind] ??= {
        number: free.pop() ?? count++,
        path,
        kind,
        values: kind === "equal" ? createValueNumbers() : presence,
        uses: 0,
      });
      slot.uses += 1;
      return slot;
    },
    release({ path, kind }) {
      const slots = tree.get(path);
      const slot = slots?.[kind];
      if (slots === undefined || slot === undefined || (slot.uses -= 1) > 0) return;
      free.push(slot.number);
      slots[kind] = undefined;
      if (slots.equal === undefined && slots.present === undefined) tree.delete(path);
    },
    walk(event, visit) {
      tree.walk(event, visit);
    },
  };
}

/** Numbers, from 1, for the texts in use; counted by use. */
export interface ValueNumbers {
  acquire(text: string): number;
  release(number: number): void;
  /** 0 for a text that is not in use. */
  find(text: string): number;
}

/** Every text has the number 1. */
const presence: ValueNumbers = { acquire: () => 1, release: () => undefined, find: () => 1 };

function createValueNumbers(): ValueNumbers {
  const numbers = new Map<string, number>();
  const texts: string[] = [""];
  const uses: number[] = [0];
  const free: number[] = [];
  return {
    acquire(text) {
      const known = numbers.get(text);
      const number = known ?? free.pop() ?? texts.length;
      if (known === undefined) {
        numbers.set(text, number);
        texts[number] = text;
        uses[number] = 0;
      }
      uses[number] = (uses[number] ?? 0) + 1;
      return number;
    },
    release(number) {
      const left = (uses[number] ?? 0) - 1;
      uses[number] = left;
      if (left > 0) return;
      numbers.delete(texts[number] ?? "");
      texts[number] = "";
      free.push(number);
    },
    find: (text) => numbers.get(text) ?? 0,
  };
}
