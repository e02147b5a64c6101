import { createGroup, type Group } from "./group.ts";
import type { Reading } from "./reading.ts";
import type { Slot } from "./slots.ts";

/** All groups. */
export interface Groups {
  /** The group of keys that are made of these slots, in this order. */
  of(slots: readonly Slot[]): Group;
  forget(group: Group): void;
  /**
   * Tells the topics that are found in the groups that an event has all values for. A group costs at most one look-up for each
   * key that the event has for it, and at most one look at each of its places, whichever is less.
   */
  ask(event: Reading, found: (topic: number) => void): void;
}

/** No groups yet. */
export function createGroups(): Groups {
  const byName = new Map<string, Group>();
  /** By slot: the groups that are asked when the event has a value for it. Each stands with one of its slots only. */
  const anchored: Group[][] = [];
  let key = new Int32Array(16);

  /** Goes through all keys that the event has for a group, from the slot `at` on. */
  function askEachKey(group: Group, at: number, event: Reading, found: (topic: number) => void): void {
    for (let place = at; place < group.slots.length; place += 1) {
      const slot = group.slots[place]?.number ?? 0;
      const several = event.hasSeveral() ? event.several(slot) : undefined;
      if (several !== undefined) {
        for (const value of several) {
          key[place] = value;
          askEachKey(group, place + 1, event, found);
        }
        return;
      }
      const value = event.first(slot);
      if (value === 0) return;
      key[place] = value;
    }
    group.find(key, found);
  }

  function askGroup(group: Group, event: Reading, found: (topic: number) => void): void {
    if (event.hasSeveral()) {
      const count = countKeys(group, event);
      if (count === 0) return;
      if (count > group.places()) {
        group.findAll(event.has, found);
        return;
      }
    }
    askEachKey(group, 0, event, found);
  }

  return {
    of(slots) {
      const name = nameOf(slots);
      const known = byName.get(name);
      if (known !== undefined) return known;
      const group = createGroup(slots);
      byName.set(name, group);
      const candidates = slots.map(({ number }) => (anchored[number] ??= []));
      candidates.reduce((least, one) => (one.length < least.length ? one : least)).push(group);
      if (slots.length > key.length) key = new Int32Array(slots.length);
      return group;
    },
    forget(group) {
      byName.delete(nameOf(group.slots));
      for (const { number } of group.slots) {
        const place = anchored[number]?.indexOf(group) ?? -1;
        if (place >= 0) anchored[number]?.splice(place, 1);
      }
    },
    ask(event, found) {
      for (const slot of event.touched) {
        for (const group of anchored[slot] ?? []) askGroup(group, event, found);
      }
    },
  };
}

/** How many keys an event has for a group; they may be more than a number can count, which is Infinity then. */
function countKeys({ slots }: Group, event: Reading): number {
  let count = 1;
  for (const { number } of slots) {
    if (event.first(number) === 0) return 0;
    count *= event.several(number)?.length ?? 1;
  }
  return count;
}

const nameOf = (slots: readonly Slot[]): string => slots.map(({ number }) => number).join();
