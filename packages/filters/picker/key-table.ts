import { invariant } from "@topicsync/lib/invariant";
import { createSeed } from "../patterns/text-hash.ts";
import type { Slot } from "./slots.ts";

const noTopic = -1;
/** Where an entry has its numbers; its key follows. */
const [nextInBucket, previousInBucket, nextOfTopic, keyStart] = [1, 2, 3, 4];
const initialCapacity = 4;

/**
 * A hash table from keys to topics, for the topics whose keys use the same slots. A key has one value number
 * per slot; a topic has one entry per key.
 *
 *   buckets   hash ─▶ first entry of the bucket                   0 means none
 *               │
 *               ▼            entry 1      entry 2      entry 3
 *   topic                    7            7            9
 *   nextInBucket             0            0            1           entries of one bucket, linked both ways
 *   previousInBucket         3            0            0
 *   nextOfTopic              0            1            0           entries of one topic, linked one way
 *   key                      [3, 1]       [4, 1]       [3, 1]      `width` numbers
 *
 * Here 1 and 3 share a bucket, as [3, 1] leads to the topics 7 and 9. Numbers one after the other instead of
 * objects: an entry with two slots takes 28 bytes, and the garbage collector never visits it.
 *
 * Invariant: entries are numbered from 1 to `used`. Each is either linked into its bucket, or has `noTopic`
 * and is linked into the free list (through `nextInBucket`).
 */
export class KeyTable {
  readonly slots: readonly Slot[];
  readonly #width: number;
  /** How many numbers an entry has. The first is the topic. */
  readonly #stride: number;
  readonly #seed = createSeed();
  #capacity = initialCapacity;
  #buckets = new Int32Array(initialCapacity);
  #entries: Int32Array<ArrayBuffer>;
  #used = 0;
  #size = 0;
  #firstFree = 0;

  constructor(slots: readonly Slot[]) {
    this.slots = slots;
    this.#width = slots.length;
    this.#stride = keyStart + slots.length;
    this.#entries = new Int32Array((initialCapacity + 1) * this.#stride);
  }

  /** Adds an entry; `next` is the previous entry of the same topic or 0. Returns the new entry. */
  add(key: readonly number[], topic: number, next: number): number {
    invariant(key.length === this.#width, "a key has one value number per slot");
    const entry = this.#allocateEntry();
    this.#set(entry, 0, topic);
    this.#set(entry, nextOfTopic, next);
    const start = entry * this.#stride + keyStart;
    // One by one: `set` takes several times as long for a few numbers.
    for (let at = 0; at < this.#width; at += 1) this.#entries[start + at] = key[at] ?? 0;
    this.#link(entry);
    return entry;
  }

  /** Removes all entries of a topic, beginning with its last one, and calls back with the key of each. */
  remove(lastEntry: number, onRemoved: (key: readonly number[]) => void): void {
    for (let entry = lastEntry; entry !== 0;) {
      const next = this.#get(entry, nextOfTopic);
      this.#freeEntry(entry);
      onRemoved([...this.#entries.subarray(entry * this.#stride + keyStart, (entry + 1) * this.#stride)]);
      entry = next;
    }
  }

  find(key: Int32Array, onTopic: (topic: number) => void): void {
    const [entries, stride] = [this.#entries, this.#stride];
    for (
      let start = stride * (this.#buckets[this.#toBucket(key, 0)] ?? 0);
      start !== 0;
      start = stride * (entries[start + nextInBucket] ?? 0)
    ) {
      if (this.#hasKey(start + keyStart, key)) onTopic(entries[start] ?? noTopic);
    }
  }

  /** Goes through all entries for the topics whose key has an accepted value in each slot. */
  scan(accepts: (slot: number, value: number) => boolean, onTopic: (topic: number) => void): void {
    for (let entry = 1; entry <= this.#used; entry += 1) {
      if (this.#isAccepted(entry, accepts)) onTopic(this.#get(entry, 0));
    }
  }

  /** The number of entries that a scan looks at, including removed ones. */
  scanLength(): number {
    return this.#used;
  }

  isEmpty(): boolean {
    return this.#size === 0;
  }

  #get(entry: number, at: number): number {
    return this.#entries[entry * this.#stride + at] ?? 0;
  }

  #set(entry: number, at: number, value: number): void {
    this.#entries[entry * this.#stride + at] = value;
  }

  /** The bucket of the entry's key. */
  #getBucket(entry: number): number {
    return this.#toBucket(this.#entries, entry * this.#stride + keyStart);
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

  #hasKey(start: number, key: Int32Array): boolean {
    for (let at = 0; at < this.#width; at += 1) if (this.#entries[start + at] !== key[at]) return false;
    return true;
  }

  #isAccepted(entry: number, accepts: (slot: number, value: number) => boolean): boolean {
    if (this.#get(entry, 0) === noTopic) return false;
    let at = keyStart;
    for (const { number } of this.slots) {
      if (!accepts(number, this.#get(entry, at))) return false;
      at += 1;
    }
    return true;
  }

  #link(entry: number): void {
    const bucket = this.#getBucket(entry);
    const first = this.#buckets[bucket] ?? 0;
    this.#set(entry, nextInBucket, first);
    this.#set(entry, previousInBucket, 0);
    if (first !== 0) this.#set(first, previousInBucket, entry);
    this.#buckets[bucket] = entry;
  }

  #unlink(entry: number): void {
    const previous = this.#get(entry, previousInBucket);
    const next = this.#get(entry, nextInBucket);
    if (next !== 0) this.#set(next, previousInBucket, previous);
    if (previous === 0) this.#buckets[this.#getBucket(entry)] = next;
    else this.#set(previous, nextInBucket, next);
  }

  #grow(): void {
    this.#capacity *= 2;
    this.#buckets = new Int32Array(this.#capacity);
    const entries = new Int32Array((this.#capacity + 1) * this.#stride);
    entries.set(this.#entries);
    this.#entries = entries;
    for (let entry = 1; entry <= this.#used; entry += 1) this.#link(entry);
  }

  #allocateEntry(): number {
    this.#size += 1;
    if (this.#firstFree !== 0) {
      const entry = this.#firstFree;
      this.#firstFree = this.#get(entry, nextInBucket);
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
    invariant(this.#get(entry, 0) !== noTopic, "an entry is removed once");
    this.#unlink(entry);
    this.#set(entry, 0, noTopic);
    this.#set(entry, nextInBucket, this.#firstFree);
    this.#firstFree = entry;
    this.#size -= 1;
  }
}
