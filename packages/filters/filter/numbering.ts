import { addToHash, createSeed } from "../patterns/text-hash.ts";

/** A place in the hash table has a number, 0 if it is free, and the hash of its text. */
const placeSize = 2;
const initialPlaces = 8;
const initialNumbers = 8;
const initialCharacters = 64;

/**
 * Numbers, from 1, for texts in use; counted by use. A hash table in typed arrays, as there may be millions:
 * a look-up reads few places in memory, and the garbage collector visits none.
 *
 * Invariant: a text is in the first place from its hash on that was free (linear probing), and no place
 * between them is free.
 */
export class Numbering {
  readonly #seed = createSeed();
  #places = new Int32Array(initialPlaces * placeSize);
  #mask = initialPlaces - 1;
  #size = 0;
  /** Of one text after another. Those that are not in use any more are removed when they are half of all. */
  #characters: Characters = new Uint8Array(initialCharacters);
  #usedCharacters = 0;
  #freeCharacters = 0;
  // By number:
  #starts = new Uint32Array(initialNumbers);
  #lengths = new Uint32Array(initialNumbers);
  #uses = new Uint32Array(initialNumbers);
  #count = 1;
  readonly #freeNumbers: number[] = [];
  /** No text in use has been longer. */
  #maxLength = 0;

  /** `isNew`: whether it was not in use before. */
  acquire(text: string): { readonly number: number; readonly isNew: boolean } {
    const hash = this.#hash(text);
    let place = this.#findPlace(text, hash);
    const known = this.#places[place] ?? 0;
    if (known !== 0) {
      this.#uses[known] = (this.#uses[known] ?? 0) + 1;
      return { number: known, isNew: false };
    }
    if (2 * (this.#size + 1) > this.#mask + 1) {
      this.#growTable();
      place = this.#findPlace(text, hash);
    }
    const number = this.#freeNumbers.pop() ?? this.#addNumber();
    this.#uses[number] = 1;
    this.#places[place] = number;
    this.#places[place + 1] = hash;
    this.#size += 1;
    this.#store(text, number);
    return { number, isNew: true };
  }

  /** Returns the text if it is no longer in use. */
  release(number: number): string | undefined {
    const left = (this.#uses[number] ?? 0) - 1;
    this.#uses[number] = left;
    if (left > 0) return undefined;
    const text = this.#read(number);
    this.#free(this.#findPlace(text, this.#hash(text)));
    this.#size -= 1;
    this.#freeNumbers.push(number);
    this.#freeCharacters += text.length;
    // Compacting goes through all numbers.
    if (this.#freeCharacters > Math.max(this.#usedCharacters / 2, this.#count)) this.#compact();
    return text;
  }

  /** How many texts are in use. */
  get size(): number {
    return this.#size;
  }

  /** 0 for a text that is not in use. */
  find(text: string): number {
    if (text.length > this.#maxLength) return 0;
    return this.#places[this.#findPlace(text, this.#hash(text))] ?? 0;
  }

  #hash(text: string): number {
    let hash = this.#seed;
    for (let at = 0; at < text.length; at += 1) hash = addToHash(hash, text.charCodeAt(at));
    return hash | 0;
  }

  /** The place of a text, or a free place for it. */
  #findPlace(text: string, hash: number): number {
    const places = this.#places;
    const mask = this.#mask;
    let at = hash & mask;
    for (; ; at = (at + 1) & mask) {
      const number = places[placeSize * at] ?? 0;
      if (number === 0 || (places[placeSize * at + 1] === hash && this.#hasText(number, text))) break;
    }
    return placeSize * at;
  }

  #hasText(number: number, text: string): boolean {
    if (this.#lengths[number] !== text.length) return false;
    const characters = this.#characters;
    const start = this.#starts[number] ?? 0;
    for (let at = 0; at < text.length; at += 1)
      if (characters[start + at] !== text.charCodeAt(at)) return false;
    return true;
  }

  #read(number: number): string {
    const start = this.#starts[number] ?? 0;
    const length = this.#lengths[number] ?? 0;
    let text = "";
    for (let at = 0; at < length; at += charactersPerCall)
      text += String.fromCharCode(
        ...this.#characters.subarray(start + at, start + Math.min(length, at + charactersPerCall)),
      );
    return text;
  }

  #store(text: string, number: number): void {
    const start = this.#usedCharacters;
    const end = start + text.length;
    if (end > this.#characters.length) this.#copyCharacters(Math.max(end, 2 * this.#characters.length));
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 0xff && this.#characters instanceof Uint8Array)
        this.#characters = new Uint16Array(this.#characters);
      this.#characters[start + at] = code;
    }
    this.#usedCharacters = end;
    this.#starts[number] = start;
    this.#lengths[number] = text.length;
    this.#maxLength = Math.max(this.#maxLength, text.length);
  }

  #copyCharacters(length: number): void {
    const copy = this.#characters instanceof Uint8Array ? new Uint8Array(length) : new Uint16Array(length);
    copy.set(this.#characters.subarray(0, length));
    this.#characters = copy;
  }

  /** Removes the characters of texts that are not in use. */
  #compact(): void {
    const old = this.#characters;
    this.#copyCharacters(Math.max(initialCharacters, 2 * (this.#usedCharacters - this.#freeCharacters)));
    let end = 0;
    for (let number = 1; number < this.#count; number += 1) {
      if (this.#uses[number] === 0) continue;
      const [start = 0, length = 0] = [this.#starts[number], this.#lengths[number]];
      this.#characters.set(old.subarray(start, start + length), end);
      this.#starts[number] = end;
      end += length;
    }
    this.#usedCharacters = end;
    this.#freeCharacters = 0;
  }

  #addNumber(): number {
    const number = this.#count;
    this.#count += 1;
    if (number === this.#uses.length) {
      this.#starts = double(this.#starts);
      this.#lengths = double(this.#lengths);
      this.#uses = double(this.#uses);
    }
    return number;
  }

  #growTable(): void {
    const old = this.#places;
    const places = new Int32Array(2 * old.length);
    const mask = places.length / placeSize - 1;
    for (let from = 0; from < old.length; from += placeSize) {
      const number = old[from] ?? 0;
      if (number === 0) continue;
      const hash = old[from + 1] ?? 0;
      let at = hash & mask;
      while (places[placeSize * at] !== 0) at = (at + 1) & mask;
      places[placeSize * at] = number;
      places[placeSize * at + 1] = hash;
    }
    this.#places = places;
    this.#mask = mask;
  }

  /** Moves those that follow without a gap into the place, if it is nearer to their hash. */
  #free(place: number): void {
    const places = this.#places;
    const mask = this.#mask;
    let gap = place / placeSize;
    for (let at = (gap + 1) & mask; places[placeSize * at] !== 0; at = (at + 1) & mask) {
      const distance = (at - (places[placeSize * at + 1] ?? 0)) & mask;
      if (distance < ((at - gap) & mask)) continue;
      places[placeSize * gap] = places[placeSize * at] ?? 0;
      places[placeSize * gap + 1] = places[placeSize * at + 1] ?? 0;
      gap = at;
    }
    places[placeSize * gap] = 0;
  }
}

/** Of a byte each while all are in Latin-1. */
type Characters = Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;

/** A call with many more arguments would need too much of the stack. */
const charactersPerCall = 1_000;

function double(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * numbers.length);
  larger.set(numbers);
  return larger;
}
