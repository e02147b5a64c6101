import type { EventPlace } from "./events.ts";

interface Sampled<T> {
  readonly hash: number;
  readonly place: EventPlace;
  readonly item: T;
}

/**
 * Keeps the items of the places with the smallest hashes: evenly distributed, and the same ones for the same
 * places, in whatever order these come.
 */
export class PlaceSample<T> {
  readonly #max: number;
  readonly #kept: Sampled<T>[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Calls `create` only if the item is kept. */
  offer(place: EventPlace, create: () => T): void {
    const hash = hashPlace(place);
    const last = this.#kept.at(-1);
    if (this.#kept.length >= this.#max && (last === undefined || isBefore(last, hash, place))) return;
    const at = this.#kept.findLastIndex((one) => isBefore(one, hash, place)) + 1;
    this.#kept.splice(at, 0, { hash, place, item: create() });
    if (this.#kept.length > this.#max) this.#kept.pop();
  }

  get items(): readonly T[] {
    return this.#kept.map(({ item }) => item);
  }
}

function isBefore(one: Sampled<unknown>, hash: number, { partition, offset }: EventPlace): boolean {
  if (one.hash !== hash) return one.hash < hash;
  if (one.place.partition !== partition) return one.place.partition < partition;
  return one.place.offset < offset;
}

/** The mixing function of MurmurHash3, over both halves of the offset and the partition. */
function hashPlace({ partition, offset }: EventPlace): number {
  let hash = mix(Math.floor(offset / 2 ** 32) ^ partition);
  hash = mix(hash ^ (offset >>> 0));
  return hash;
}

function mix(value: number): number {
  let mixed = (value + 0x9e3779b9) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
