import type { Slot } from "./slots.ts";

/**
 * A hash table from keys to topics, for the topics whose keys use the same slots. A key has one value number
 * per slot; a topic has one entry per key.
 *
 *   buckets   hash ─▶ first entry of the bucket                   0 means none
 *               │
 *               ▼            entry 1      entry 2      entry 3
 *   topics                   topic 7      topic 7      topic 9
 *   keys                     [3, 1]       [4, 1]       [3, 1]      `width` numbers per entry
 *   nextInBucket             0            0            1           entries of one bucket, linked both ways
 *   previousInBucket         3            0            0
 *   nextOfTopic              0            1            0           entries of one topic, linked one way
 *
 * Here 1 and 3 share a bucket, as [3, 1] leads to the topics 7 and 9. Typed arrays instead of objects: an
 * entry with two slots takes 28 bytes, and the garbage collector never visits it.
 *
 * Invariant: entries are numbered from 1 to `used`. Each is either linked into its bucket, or has `noTopic`
 * and is linked into the free list (through `nextInBucket`).
 */
export interface KeyTable {
  readonly slots: readonly Slot[];
  /** Adds an entry; `nextOfTopic` is the previous entry of the same topic or 0. Returns the new entry. */
  add(key: readonly number[], topic: number, nextOfTopic: number): number;
  /** Removes all entries of a topic, beginning with its last one, and calls back with the key of each. */
  remove(lastEntry: number, onRemoved: (key: readonly number[]) => void): void;
  find(key: Int32Array, onTopic: (topic: number) => void): void;
  /** Goes through all entries for the topics whose key has an accepted value in each slot. */
  scan(accepts: (slot: number, value: number) => boolean, onTopic: (topic: number) => void): void;
  /** The number of entries that a scan looks at, including removed ones. */
  scanLength(): number;
  isEmpty(): boolean;
}

const noTopic = -1;
const initialCapacity = 4;

export function createKeyTable(slots: readonly Slot[]): KeyTable {
  const width = slots.length;
  /** Random, so that nobody can choose keys that all fall into one bucket. */
  const seed = Math.trunc(Math.random() * 2 ** 32);
  let capacity = initialCapacity;
  let buckets = new Int32Array(capacity);
  let topics = new Int32Array(capacity + 1);
  let keys = new Int32Array((capacity + 1) * width);
  let nextInBucket = new Int32Array(capacity + 1);
  let previousInBucket = new Int32Array(capacity + 1);
  let nextOfTopic = new Int32Array(capacity + 1);
  let used = 0;
  let size = 0;
  let firstFree = 0;

  /** The bucket of the key that begins at an index of `numbers`. */
  function toBucket(numbers: Int32Array, start: number): number {
    let hash = seed;
    for (let at = 0; at < width; at += 1) {
      hash = Math.imul(hash ^ (numbers[start + at] ?? 0), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash & (capacity - 1);
  }

  function hasKey(entry: number, key: Int32Array): boolean {
    const start = entry * width;
    for (let at = 0; at < width; at += 1) if (keys[start + at] !== key[at]) return false;
    return true;
  }

  function isAccepted(entry: number, accepts: (slot: number, value: number) => boolean): boolean {
    if (topics[entry] === noTopic) return false;
    let at = entry * width;
    for (const { number } of slots) {
      if (!accepts(number, keys[at] ?? 0)) return false;
      at += 1;
    }
    return true;
  }

  function link(entry: number): void {
    const bucket = toBucket(keys, entry * width);
    const first = buckets[bucket] ?? 0;
    nextInBucket[entry] = first;
    previousInBucket[entry] = 0;
    if (first !== 0) previousInBucket[first] = entry;
    buckets[bucket] = entry;
  }

  function unlink(entry: number): void {
    const [previous = 0, next = 0] = [previousInBucket[entry], nextInBucket[entry]];
    if (next !== 0) previousInBucket[next] = previous;
    if (previous === 0) buckets[toBucket(keys, entry * width)] = next;
    else nextInBucket[previous] = next;
  }

  function grow(): void {
    capacity *= 2;
    buckets = new Int32Array(capacity);
    topics = resize(topics, capacity + 1);
    keys = resize(keys, (capacity + 1) * width);
    nextInBucket = resize(nextInBucket, capacity + 1);
    previousInBucket = resize(previousInBucket, capacity + 1);
    nextOfTopic = resize(nextOfTopic, capacity + 1);
    for (let entry = 1; entry <= used; entry += 1) link(entry);
  }

  function allocateEntry(): number {
    size += 1;
    if (firstFree !== 0) {
      const entry = firstFree;
      firstFree = nextInBucket[entry] ?? 0;
      return entry;
    }
    // The free list is empty, so growing links every entry again.
    if (used === capacity) grow();
    used += 1;
    return used;
  }

  function freeEntry(entry: number): void {
    unlink(entry);
    topics[entry] = noTopic;
    nextInBucket[entry] = firstFree;
    firstFree = entry;
    size -= 1;
  }

  return {
    slots,
    add(key, topic, next) {
      const entry = allocateEntry();
      topics[entry] = topic;
      nextOfTopic[entry] = next;
      for (let at = 0; at < width; at += 1) keys[entry * width + at] = key[at] ?? 0;
      link(entry);
      return entry;
    },
    remove(lastEntry, onRemoved) {
      for (let entry = lastEntry; entry !== 0;) {
        const next = nextOfTopic[entry] ?? 0;
        freeEntry(entry);
        onRemoved([...keys.subarray(entry * width, (entry + 1) * width)]);
        entry = next;
      }
    },
    find(key, onTopic) {
      for (let entry = buckets[toBucket(key, 0)] ?? 0; entry !== 0; entry = nextInBucket[entry] ?? 0) {
        if (hasKey(entry, key)) onTopic(topics[entry] ?? noTopic);
      }
    },
    scan(accepts, onTopic) {
      for (let entry = 1; entry <= used; entry += 1) {
        if (isAccepted(entry, accepts)) onTopic(topics[entry] ?? noTopic);
      }
    },
    scanLength: () => used,
    isEmpty: () => size === 0,
  };
}

function resize(numbers: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(numbers);
  return copy;
}
