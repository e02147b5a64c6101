/** So few entries are searched one by one. */
const maxRecent = 16;

/** Entries that were put into an index together. */
interface Part<Key, Value, Index> {
  readonly index: Index;
  /** Without those that were removed since. */
  readonly entries: Map<Key, Value>;
  readonly initialSize: number;
}

/**
 * Entries that change, in indexes that cannot grow. New ones are searched one by one, then are put into an
 * index together with all smaller ones. So there are few indexes, and each entry is moved a few times
 * (Bentley and Saxe 1980).
 */
export class GrowingIndex<Key, Value, Index extends { delete(key: Key, value: Value): void }> {
  readonly #create: (entries: ReadonlyMap<Key, Value>) => Index;
  #recent = new Map<Key, Value>();
  /** The largest first. */
  readonly #parts: Part<Key, Value, Index>[] = [];

  constructor(create: (entries: ReadonlyMap<Key, Value>) => Index) {
    this.#create = create;
  }

  /** The entries that are in no index yet: a few. */
  get recent(): ReadonlyMap<Key, Value> {
    return this.#recent;
  }

  /** The indexes of all other entries: a few. */
  get parts(): readonly { readonly index: Index }[] {
    return this.#parts;
  }

  /** Adds an entry whose key is not in use. */
  add(key: Key, value: Value): void {
    this.#recent.set(key, value);
    if (this.#recent.size <= maxRecent) return;
    const entries = this.#recent;
    this.#recent = new Map();
    this.#addPart(entries);
  }

  delete(key: Key): void {
    if (this.#recent.delete(key)) return;
    const at = this.#parts.findIndex(({ entries }) => entries.has(key));
    const part = this.#parts[at];
    const value = part?.entries.get(key);
    if (part === undefined || value === undefined) return;
    part.entries.delete(key);
    part.index.delete(key, value);
    if (2 * part.entries.size > part.initialSize) return;
    this.#parts.splice(at, 1);
    if (part.entries.size > 0) this.#addPart(part.entries);
  }

  #addPart(entries: Map<Key, Value>): void {
    for (let last = this.#parts.at(-1); last !== undefined; last = this.#parts.at(-1)) {
      if (last.entries.size > 2 * entries.size) break;
      for (const [key, value] of last.entries) entries.set(key, value);
      this.#parts.pop();
    }
    this.#parts.push({ index: this.#create(entries), entries, initialSize: entries.size });
    this.#parts.sort((one, other) => other.entries.size - one.entries.size);
  }
}
