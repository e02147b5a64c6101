import { GrowingIndex } from "./growing-index.ts";

const root = 0;

/**
 * Numbered texts as an automaton (Aho and Corasick 1975), which finds those that a text contains. Takes time
 * in proportion to the text, however many there are. Texts are added all at once.
 */
export class Automaton {
  readonly #edges = new Edges();
  /** By state: the state of the longest proper suffix that is a state. */
  readonly #suffix: number[] = [root];
  /** By state: the number of the text that ends here, or 0. */
  readonly #numbers: number[] = [0];
  /** By state: the nearest other state on its chain of suffixes where a text ends, or the root. */
  readonly #nextEnd: number[] = [root];
  /** By state: the last search that reached it. */
  readonly #reached: number[] = [0];
  #search = 0;

  constructor(texts: Iterable<readonly [text: string, number: number]>) {
    for (const [text, number] of texts) this.#add(text, number);
    this.#link();
  }

  /** Calls back with the number of each text that `text` contains, once. */
  find(text: string, onFound: (number: number) => void): void {
    this.#search += 1;
    let state = root;
    for (let at = 0; at < text.length; at += 1) {
      state = this.#step(state, text.charCodeAt(at));
      for (let end = state; end !== root; end = this.#nextEnd[end] ?? root) {
        if (this.#reached[end] === this.#search) break;
        this.#reached[end] = this.#search;
        const number = this.#numbers[end] ?? 0;
        if (number !== 0) onFound(number);
      }
    }
  }

  delete(text: string): void {
    let state = root;
    for (let at = 0; at < text.length; at += 1) state = this.#edges.get(state, text.charCodeAt(at));
    this.#numbers[state] = 0;
  }

  #add(text: string, number: number): void {
    let state = root;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      let next = this.#edges.get(state, code);
      if (next === root) {
        next = this.#numbers.push(0) - 1;
        this.#suffix.push(root);
        this.#nextEnd.push(root);
        this.#reached.push(0);
        this.#edges.add(state, code, next);
      }
      state = next;
    }
    this.#numbers[state] = number;
  }

  #step(from: number, code: number): number {
    for (let state = from; ; state = this.#suffix[state] ?? root) {
      const next = this.#edges.get(state, code);
      if (next !== root || state === root) return next;
    }
  }

  /** Breadth first, so that shorter suffixes are linked before longer ones. */
  #link(): void {
    for (const [from, code, to] of this.#edges.byDepth()) {
      const suffix = from === root ? root : this.#step(this.#suffix[from] ?? root, code);
      this.#suffix[to] = suffix;
      this.#nextEnd[to] = this.#numbers[suffix] === 0 ? (this.#nextEnd[suffix] ?? root) : suffix;
    }
  }
}

/** The edges of the automaton's tree: a hash table of numbers, since most states have one edge. */
class Edges {
  #capacity = 64;
  #size = 0;
  /** 0 in a free place: no edge leads to the root. */
  #to = new Int32Array(this.#capacity);
  #from = new Int32Array(this.#capacity);
  #codes = new Uint16Array(this.#capacity);

  /** Returns the root if there is no such edge. */
  get(from: number, code: number): number {
    return this.#to[this.#find(from, code)] ?? root;
  }

  add(from: number, code: number, to: number): void {
    if (2 * this.#size >= this.#capacity) this.#grow();
    const at = this.#find(from, code);
    this.#from[at] = from;
    this.#codes[at] = code;
    this.#to[at] = to;
    this.#size += 1;
  }

  /** All edges, those that are nearer to the root first. */
  byDepth(): (readonly [from: number, code: number, to: number])[] {
    const byState: [number, number, number][][] = [];
    for (let at = 0; at < this.#capacity; at += 1) {
      const [from = 0, code = 0, to = 0] = [this.#from[at], this.#codes[at], this.#to[at]];
      if (to !== root) (byState[from] ??= []).push([from, code, to]);
    }
    const ordered = [...(byState[root] ?? [])];
    for (let at = 0; at < ordered.length; at += 1) ordered.push(...(byState[ordered[at]?.[2] ?? root] ?? []));
    return ordered;
  }

  /** The place of an edge, or a free place for it. */
  #find(from: number, code: number): number {
    const mask = this.#capacity - 1;
    let at = (Math.imul(from, 0x9e3779b1) ^ Math.imul(code, 0x85ebca6b)) >>> 7;
    for (at &= mask; this.#to[at] !== 0; at = (at + 1) & mask)
      if (this.#from[at] === from && this.#codes[at] === code) break;
    return at;
  }

  #grow(): void {
    const [from, codes, to] = [this.#from, this.#codes, this.#to];
    this.#capacity *= 2;
    this.#from = new Int32Array(this.#capacity);
    this.#codes = new Uint16Array(this.#capacity);
    this.#to = new Int32Array(this.#capacity);
    this.#size = 0;
    for (const [at, target] of to.entries())
      if (target !== root) this.add(from[at] ?? root, codes[at] ?? 0, target);
  }
}

/** Numbered texts that change, and those of them that a text contains. */
export class Substrings {
  readonly #texts = new GrowingIndex((texts: ReadonlyMap<string, number>) => new Automaton(texts));

  set(text: string, number: number): void {
    this.#texts.add(text, number);
  }

  delete(text: string): void {
    this.#texts.delete(text);
  }

  find(text: string, onFound: (number: number) => void): void {
    for (const { index } of this.#texts.parts) index.find(text, onFound);
    for (const [part, number] of this.#texts.recent) if (contains(text, part)) onFound(number);
  }
}

/** Node's own search takes time in proportion to the product of both lengths in the worst case. */
const maxSearchedLength = 32;

/** Whether a text contains another one, in time proportional to both. */
export function contains(text: string, part: string): boolean {
  if (part.length <= maxSearchedLength) return text.includes(part);
  let found = false;
  new Automaton([[part, 1]]).find(text, () => {
    found = true;
  });
  return found;
}
