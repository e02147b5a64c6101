import { PathTree, type Place } from "../filter/path-tree.ts";
import type { FindablePattern } from "../patterns/patterns.ts";
import { Ranges, type Range } from "../filter/ranges.ts";
import { Numbering } from "../filter/numbering.ts";
import { TextPatterns } from "../patterns/text-patterns.ts";

/**
 * What the values of a slot say of a path: which values in use it has, which patterns in use a text there
 * satisfies, which ranges in use its values are in, or whether there is anything or nothing.
 */
export type SlotKind = "equal" | "pattern" | "range" | "present" | "absent";

/** A value of a slot. */
export type Alternative =
  | { readonly kind: "text"; readonly text: string }
  /** A number that a filter writes in another notation than it prints, such as `1e3`. */
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "pattern"; readonly pattern: FindablePattern }
  | { readonly kind: "range"; readonly range: Range }
  | { readonly kind: "fact" };

/** The values of slots of the kinds "present" and "absent". */
export const isTrue = 1;
export const isFalse = 2;

/** A path that keys are made of. Its values are numbered, so that a key is a few integers. */
export class Slot {
  readonly number: number;
  readonly place: Place;
  readonly kind: SlotKind;
  uses = 0;
  // Each is created when it is needed: of the kinds "present" and "absent" there may be one per topic.
  #texts: Numbering | undefined;
  #numbers: Numbering | undefined;
  patterns: TextPatterns | undefined;
  ranges: Ranges | undefined;

  constructor(number: number, { path, ofRecord }: Place, kind: SlotKind) {
    this.number = number;
    this.place = ofRecord ? { path, ofRecord } : { path };
    this.kind = kind;
  }

  acquire(alternative: Alternative): number {
    switch (alternative.kind) {
      case "text":
        return (this.#texts ??= new Numbering()).acquire(alternative.text).number;
      case "number":
        return -(this.#numbers ??= new Numbering()).acquire(alternative.text).number;
      case "pattern":
        return (this.patterns ??= new TextPatterns()).acquire(alternative.pattern);
      case "range":
        return (this.ranges ??= new Ranges()).acquire(alternative.range);
      case "fact":
        return isTrue;
    }
  }

  release(value: number): void {
    switch (this.kind) {
      case "equal":
        if (value < 0) this.#numbers?.release(-value);
        else this.#texts?.release(value);
        return;
      case "pattern":
        this.patterns?.release(value);
        return;
      case "range":
        this.ranges?.release(value);
        return;
      case "present":
      case "absent":
    }
  }

  /** Returns 0 for a text that is not in use. */
  findText(text: string): number {
    return this.#texts?.find(text) ?? 0;
  }

  /** Returns 0 for a number that is not in use in another notation. */
  findNumber(text: string): number {
    return this.#numbers === undefined ? 0 : -this.#numbers.find(text);
  }
}

export type SlotsOfPath = Readonly<Record<SlotKind, Slot | undefined>>;

/** The paths that keys are made of, counted by use. */
export class Slots {
  readonly tree = new PathTree<Record<SlotKind, Slot | undefined>>();
  readonly #free: number[] = [];
  #count = 0;
  /** The numbers of the slots of kind "absent". */
  readonly absences = new Set<number>();

  acquire(place: Place, kind: SlotKind): Slot {
    const slots = this.tree.getOrAdd(place, () => ({
      equal: undefined,
      pattern: undefined,
      range: undefined,
      present: undefined,
      absent: undefined,
    }));
    const slot = (slots[kind] ??= this.#create(place, kind));
    slot.uses += 1;
    return slot;
  }

  release(slot: Slot): void {
    slot.uses -= 1;
    const slots = this.tree.get(slot.place);
    if (slots === undefined || slot.uses > 0) return;
    this.#free.push(slot.number);
    this.absences.delete(slot.number);
    slots[slot.kind] = undefined;
    if (Object.values(slots).every((one) => one === undefined)) this.tree.delete(slot.place);
  }

  #create(place: Place, kind: SlotKind): Slot {
    const number = this.#free.pop() ?? this.#count++;
    if (kind === "absent") this.absences.add(number);
    return new Slot(number, place, kind);
  }
}
