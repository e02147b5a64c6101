import type { BackfillRange } from "../../src/routing/backfill.ts";

interface KnownRange extends BackfillRange {
  /** A bit for each offset. */
  readonly bits: Uint8Array;
}

/** The ids of events that a topic has copies of. Those of some ranges take a bit per offset. */
export class DeliveredEvents {
  readonly #prefix: string;
  readonly #ranges: ReadonlyMap<number, KnownRange>;
  /** Those before the ranges: a replay in a range has the id of the original. */
  readonly #others = new Set<string>();

  constructor(topic: string, ranges: readonly BackfillRange[]) {
    this.#prefix = `${topic}-`;
    this.#ranges = new Map(
      ranges.map((range) => [
        range.partition,
        { ...range, bits: new Uint8Array(Math.ceil((range.to - range.from) / 8)) },
      ]),
    );
  }

  add(id: string): void {
    const place = this.#find(id);
    if (place === undefined) this.#others.add(id);
    // Nothing in a range repeats an event that follows it.
    else if (place.at < place.bits.length) place.bits[place.at] = (place.bits[place.at] ?? 0) | place.mask;
  }

  has(id: string): boolean {
    const place = this.#find(id);
    return place === undefined ? this.#others.has(id) : ((place.bits[place.at] ?? 0) & place.mask) !== 0;
  }

  /** The bit of an id; undefined if it is not in the log of a range, or before the range. */
  #find(id: string) {
    if (!id.startsWith(this.#prefix)) return undefined;
    const [partition = NaN, offset = NaN, epoch = 1] = id.slice(this.#prefix.length).split("-").map(Number);
    const range = this.#ranges.get(partition);
    if (range === undefined || range.epoch !== epoch || !(offset >= range.from)) return undefined;
    const index = offset - range.from;
    return { bits: range.bits, at: Math.floor(index / 8), mask: 1 << (index % 8) };
  }
}
