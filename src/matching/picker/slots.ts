import { createPathTree } from "../filter/path-tree.ts";
import { anyValue, createValues, type Values } from "./values.ts";

/** What a slot tells of an event: which value stands at a path, or that there is one at all. */
export type SlotKind = "equal" | "present";

/** A path that keys are made of. */
export interface Slot {
  readonly number: number;
  readonly path: readonly string[];
  readonly kind: SlotKind;
  readonly values: Values;
}

/** The paths that keys are made of. */
export interface Slots {
  /** The slot of a path; counts how often it is in use. */
  use(path: readonly string[], kind: SlotKind): Slot;
  release(slot: Slot): void;
  /** Tells every value that an event has at a path of slots. */
  walk(event: unknown, found: (slots: SlotsHere, text: string) => void): void;
}

/** The slots of one path. */
export type SlotsHere = Readonly<Record<SlotKind, Slot | undefined>>;
type CountedSlots = Record<SlotKind, (Slot & { uses: number }) | undefined>;

/** No paths yet. */
export function createSlots(): Slots {
  const tree = createPathTree<CountedSlots>();
  const free: number[] = [];
  let count = 0;

  return {
    use(path, kind) {
      const slot = (tree.getOrAdd(path, () => ({ equal: undefined, present: undefined }))[kind] ??= {
        number: free.pop() ?? count++,
        path,
        kind,
        values: kind === "equal" ? createValues() : anyValue,
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
    walk(event, found) {
      tree.walk(event, found);
    },
  };
}
