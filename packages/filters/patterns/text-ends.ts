import { addToHash, createSeed } from "./text-hash.ts";

const initialCapacity = 8;

/**
 * Numbered texts as a hash table, which finds those that a text begins with, or those that it ends with.
 * Takes time in proportion to the text, however many there are: one look-up for each of their lengths, as the
 * hash of a beginning is on the way to that of a longer one.
 *
 * Invariant: a text is in the first place from its hash on that was free (linear probing), and no place
 * between them is free.
 */
export class TextEnds {
  readonly #isReversed: boolean;
  readonly #seed = createSeed();
  /** 0 in a free place. */
  #numbers = new Int32Array(initialCapacity);
  #hashes = new Int32Array(initialCapacity);
  #texts: string[] = createTexts(initialCapacity);
  #size = 0;
  /** The lengths of the texts, sorted, and how many texts have each. */
  readonly #lengths: number[] = [];
  readonly #uses = new Map<number, number>();

  constructor(side: "beginning" | "end") {
    this.#isReversed = side === "end";
  }

  /** Adds a text that is not there. */
  set(text: string, number: number): void {
    if (2 * this.#size >= this.#numbers.length) this.#grow();
    this.#put(text, number, this.#hash(text));
    this.#size += 1;
    const uses = this.#uses.get(text.length) ?? 0;
    this.#uses.set(text.length, uses + 1);
    if (uses === 0) this.#lengths.splice(this.#countShorter(text.length), 0, text.length);
  }

  delete(text: string): void {
    const place = this.#findPlace(text, this.#hash(text));
    if (this.#numbers[place] === 0) return;
    this.#free(place);
    this.#size -= 1;
    const uses = (this.#uses.get(text.length) ?? 0) - 1;
    this.#uses.set(text.length, uses);
    if (uses > 0) return;
    this.#uses.delete(text.length);
    this.#lengths.splice(this.#countShorter(text.length), 1);
  }

  /** Calls back with the number of each text that `text` begins with, or ends with. */
  find(text: string, onFound: (number: number) => void): void {
    const hashes = this.#hashes;
    const numbers = this.#numbers;
    const mask = numbers.length - 1;
    let hash = this.#seed;
    let at = 0;
    for (const length of this.#lengths) {
      if (length > text.length) return;
      for (; at < length; at += 1) hash = addToHash(hash, this.#getCode(text, at));
      for (let place = hash & mask; numbers[place] !== 0; place = (place + 1) & mask) {
        if (hashes[place] !== hash || !this.#isAtEnd(text, this.#texts[place] ?? "", length)) continue;
        onFound(numbers[place] ?? 0);
        break;
      }
    }
  }

  #isAtEnd(text: string, one: string, length: number): boolean {
    if (one.length !== length) return false;
    return this.#isReversed ? text.endsWith(one) : text.startsWith(one);
  }

  #getCode(text: string, at: number): number {
    return text.charCodeAt(this.#isReversed ? text.length - 1 - at : at);
  }

  #hash(text: string): number {
    let hash = this.#seed;
    for (let at = 0; at < text.length; at += 1) hash = addToHash(hash, this.#getCode(text, at));
    return hash;
  }

  /** The place of a text, or a free place for it. */
  #findPlace(text: string, hash: number): number {
    const mask = this.#numbers.length - 1;
    let place = hash & mask;
    while (this.#numbers[place] !== 0 && (this.#hashes[place] !== hash || this.#texts[place] !== text))
      place = (place + 1) & mask;
    return place;
  }

  #put(text: string, number: number, hash: number): void {
    const place = this.#findPlace(text, hash);
    this.#numbers[place] = number;
    this.#hashes[place] = hash;
    this.#texts[place] = text;
  }

  /** Puts those that follow without a gap into place again. */
  #free(place: number): void {
    const mask = this.#numbers.length - 1;
    this.#numbers[place] = 0;
    this.#texts[place] = "";
    for (let next = (place + 1) & mask; this.#numbers[next] !== 0; next = (next + 1) & mask) {
      const [text = "", number = 0] = [this.#texts[next], this.#numbers[next]];
      this.#numbers[next] = 0;
      this.#texts[next] = "";
      this.#put(text, number, this.#hashes[next] ?? 0);
    }
  }

  #grow(): void {
    const [numbers, hashes, texts] = [this.#numbers, this.#hashes, this.#texts];
    const capacity = 2 * numbers.length;
    this.#numbers = new Int32Array(capacity);
    this.#hashes = new Int32Array(capacity);
    this.#texts = createTexts(capacity);
    for (const [place, number] of numbers.entries())
      if (number !== 0) this.#put(texts[place] ?? "", number, hashes[place] ?? 0);
  }

  #countShorter(length: number): number {
    const at = this.#lengths.findIndex((one) => one >= length);
    return at < 0 ? this.#lengths.length : at;
  }
}

const createTexts = (length: number): string[] => Array.from({ length }, () => "");
