import { invariant } from "../../lib/invariant.ts";
import type { Slot } from "./slots.ts";

const noTopic = -1;
const initialCapacity = 4;

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
export class KeyTable {
  readonly slots: readonly Slot[];
  readonly #width: number;
  /** Random, so that nobody can choose keys that all fall into one bucket. */
  readonly #seed = Math.trunc(Math.random() * 2 ** 32);
  #capacity = initialCapacity;
  #buckets = new Int32Array(initialCapacity);
  #topics = new Int32Array(initialCapacity + 1);
  #keys: Int32Array<ArrayBuffer>;
  #nextInBucket = new Int32Array(initialCapacity + 1);
  #previousInBucket = new Int32Array(initialCapacity + 1);
  #nextOfTopic = new Int32Array(initialCapacity + 1);
  #used = 0;
  #size = 0;
  #firstFree = 0;

  constructor(slots: readonly Slot[]) {
    this.slots = slots;
    this.#width = slots.length;
    this.#keys = new Int32Array((initialCapacity + 1) * slots.length);
  }

  /** Adds an entry; `nextOfTopic` is the previous entry of the same topic or 0. Returns the new entry. */
  add(key: readonly number[], topic: number, nextOfTopic: number): number {
    invariant(key.length === this.#width, "a key has one value number per slot");
    const entry = this.#allocateEntry();
    this.#topics[entry] = topic;
    this.#nextOfTopic[entry] = nextOfTopic;
    this.#keys.set(key, entry * this.#width);
    this.#link(entry);
    return entry;
  }

  /** Removes all entries of a topic, beginning with its last one, and calls back with the key of each. */
  remove(lastEntry: number, onRemoved: (key: readonly number[]) => void): void {
    for (let entry = lastEntry; entry !== 0;) {
      const next = this.#nextOfTopic[entry] ?? 0;
      this.#freeEntry(entry);
      onRemoved([...this.#keys.subarray(entry * this.#width, (entry + 1) * this.#width)]);
      entry = next;
    }
  }

  find(key: Int32Array, onTopic: (topic: number) => void): void {
    const nextInBucket = this.#nextInBucket;
    for (
      let entry = this.#buckets[this.#toBucket(key, 0)] ?? 0;
      entry !== 0;
      entry = nextInBucket[entry] ?? 0
    ) {
      if (this.#hasKey(entry, key)) onTopic(this.#topics[entry] ?? noTopic);
    }
  }

  /** Goes through all entries for the topics whose key has an accepted value in each slot. */
  scan(accepts: (slot: number, value: number) => boolean, onTopic: (topic: number) => void): void {
    for (let entry = 1; entry <= this.#used; entry += 1) {
      if (this.#isAccepted(entry, accepts)) onTopic(this.#topics[entry] ?? noTopic);
    }
  }

  /** The number of entries that a scan looks at, including removed ones. */
  scanLength(): number {
    return this.#used;
  }

  isEmpty(): boolean {
    return this.#size === 0;
  }

  /** The bucket of the key that begins at an index of `numbers`. */
  #toBucket(numbers: Int32Array, start: number): number {
    let hash = this.#seed;
    for (let at = 0; at < this.#width; at += 1) {
      hash = Math.imul(hash ^ (numbers[start + at] ?? 0), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash & (this.#capacity - 1);
  }

  #hasKey(entry: number, key: Int32Array): boolean {
    const start = entry * this.#width;
    for (let at = 0; at < this.#width; at += 1) if (this.#keys[start + at] !== key[at]) return false;
    return true;
  }

  #isAccepted(entry: number, accepts: (slot: number, value: number) => boolean): boolean {
    if (this.#topics[entry] === noTopic) return false;
    let at = entry * this.#width;
    for (const { number } of this.slots) {
      if (!accepts(number, this.#keys[at] ?? 0)) return false;
      at += 1;
    }
    return true;
  }

  #link(entry: number): void {
    const bucket = this.#toBucket(this.#keys, entry * this.#width);
    const first = this.#buckets[bucket] ?? 0;
    this.#nextInBucket[entry] = first;
    this.#previousInBucket[entry] = 0;
    if (first !== 0) this.#previousInBucket[first] = entry;
    this.#buckets[bucket] = entry;
  }

  #unlink(entry: number): void {
    const previous = this.#previousInBucket[entry] ?? 0;
    const next = this.#nextInBucket[entry] ?? 0;
    if (next !== 0) this.#previousInBucket[next] = previous;
    if (previous === 0) this.#buckets[this.#toBucket(this.#keys, entry * this.#width)] = next;
    else this.#nextInBucket[previous] = next;
  }

  #grow(): void {
    this.#capacity *= 2;
    const length = this.#capacity + 1;
    this.#buckets = new Int32Array(this.#capacity);
    this.#topics = resize(this.#topics, length);
    this.#keys = resize(this.#keys, length * this.#width);
    this.#nextInBucket = resize(this.#nextInBucket, length);
    this.#previousInBucket = resize(this.#previousInBucket, length);
    this.#nextOfTopic = resize(this.#nextOfTopic, length);
    for (let entry = 1; entry <= this.#used; entry += 1) this.#link(entry);
  }

  #allocateEntry(): number {
    this.#size += 1;
    if (this.#firstFree !== 0) {
      const entry = this.#firstFree;
      this.#firstFree = this.#nextInBucket[entry] ?? 0;
      return entry;
    }
    if (this.#used === this.#capacity) {
      // The free list is empty, so growing links every entry again.
      invariant(this.#size === this.#used + 1, "every entry that is not free is in use");
      this.#grow();
    }
    this.#used += 1;
    return this.#used;
  }

  #freeEntry(entry: number): void {
    invariant(this.#topics[entry] !== noTopic, "an entry is removed once");
    this.#unlink(entry);
    this.#topics[entry] = noTopic;
    this.#nextInBucket[entry] = this.#firstFree;
    this.#firstFree = entry;
    this.#size -= 1;
  }
}

function resize(numbers: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(numbers);
  return copy;
}
