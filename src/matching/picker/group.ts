import type { Slot } from "./slots.ts";

/**
 * The topics whose keys are made of the same slots: a hash table from keys (one number for each slot) to topics. A topic has
 * one entry for each of its keys. Entries of one hash form a doubly linked list, those of one topic a singly linked one.
 */
export interface Group {
  readonly slots: readonly Slot[];
  /** Adds an entry in front of the topic's others; gives its number, the new first of the topic. 0 is none. */
  add(key: readonly number[], topic: number, others: number): number;
  /** Removes all entries of a topic, telling the key of each. */
  remove(first: number, removed: (key: readonly number[]) => void): void;
  /** Tells every topic under a key. */
  find(key: Int32Array, found: (topic: number) => void): void;
  /** Tells every topic under a key whose values all pass the test, which is given their slots' numbers. Looks at every place. */
  findAll(has: (slot: number, value: number) => boolean, found: (topic: number) => void): void;
  /** How many entries there were at most at one time: each has a place in the table. */
  places(): number;
  isEmpty(): boolean;
}

/** Stands for the topic of an entry that was removed. */
const noTopic = -1;

const firstRoom = 4;

/** An empty group. */
export function createGroup(slots: readonly Slot[]): Group {
  const width = slots.length;
  /** Random, so that nobody can choose topics and events whose keys all fall into one list. */
  const seed = Math.trunc(Math.random() * 2 ** 32);
  let room = firstRoom;
  // By hash: the first entry. By entry (from 1 on): topic, neighbours of the same hash, next of the same topic, key.
  let heads = new Int32Array(room);
  let topics = new Int32Array(room + 1);
  let next = new Int32Array(room + 1);
  let previous = new Int32Array(room + 1);
  let siblings = new Int32Array(room + 1);
  let keys = new Int32Array((room + 1) * width);
  let used = 0;
  let size = 0;
  /** The first of the entries that were removed, linked by `next`. */
  let free = 0;

  function bucketOf(key: Int32Array | readonly number[], from: number): number {
    let hash = seed;
    for (let at = 0; at < width; at += 1) {
      hash = Math.imul(hash ^ (key[from + at] ?? 0), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash & (room - 1);
  }

  function link(entry: number): void {
    const bucket = bucketOf(keys, entry * width);
    const head = heads[bucket] ?? 0;
    next[entry] = head;
    previous[entry] = 0;
    if (head !== 0) previous[head] = entry;
    heads[bucket] = entry;
  }

  function unlink(entry: number): void {
    const [before = 0, after = 0] = [previous[entry], next[entry]];
    if (after !== 0) previous[after] = before;
    if (before === 0) heads[bucketOf(keys, entry * width)] = after;
    else next[before] = after;
  }

  function enlarge(): void {
    room *= 2;
    heads = new Int32Array(room);
    topics = grown(topics, room + 1);
    next = grown(next, room + 1);
    previous = grown(previous, room + 1);
    siblings = grown(siblings, room + 1);
    keys = grown(keys, (room + 1) * width);
    for (let entry = 1; entry <= used; entry += 1) link(entry);
  }

  function newEntry(): number {
    size += 1;
    if (free !== 0) {
      const entry = free;
      free = next[entry] ?? 0;
      return entry;
    }
    // Nothing is free then, so every entry is linked again.
    if (used === room) enlarge();
    used += 1;
    return used;
  }

  return {
    slots,
    add(key, topic, others) {
      const entry = newEntry();
      topics[entry] = topic;
      siblings[entry] = others;
      for (let at = 0; at < width; at += 1) keys[entry * width + at] = key[at] ?? 0;
      link(entry);
      return entry;
    },
    remove(first, removed) {
      for (let entry = first; entry !== 0;) {
        const sibling = siblings[entry] ?? 0;
        unlink(entry);
        removed([...keys.subarray(entry * width, (entry + 1) * width)]);
        topics[entry] = noTopic;
        next[entry] = free;
        free = entry;
        size -= 1;
        entry = sibling;
      }
    },
    find(key, found) {
      entries: for (let entry = heads[bucketOf(key, 0)] ?? 0; entry !== 0; entry = next[entry] ?? 0) {
        const from = entry * width;
        for (let at = 0; at < width; at += 1) if (keys[from + at] !== key[at]) continue entries;
        found(topics[entry] ?? 0);
      }
    },
    findAll(has, found) {
      entries: for (let entry = 1; entry <= used; entry += 1) {
        const topic = topics[entry] ?? noTopic;
        if (topic === noTopic) continue;
        const from = entry * width;
        for (const [at, { number }] of slots.entries())
          if (!has(number, keys[from + at] ?? 0)) continue entries;
        found(topic);
      }
    },
    places: () => used,
    isEmpty: () => size === 0,
  };
}

/** A copy with more room. */
function grown(numbers: Int32Array<ArrayBuffer>, room: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(room);
  copy.set(numbers);
  return copy;
}
