import { getKind, toComparable, type Comparable, type Kind } from "./compare.ts";
import type { Condition } from "./filter.ts";
import { GrowingIndex } from "../patterns/growing-index.ts";
import { scalarToComparable, type Scalar } from "./match.ts";
import { Numbering } from "./numbering.ts";

/**
 * Between which values something must be, as ranks: a value that satisfies the comparisons is in the range. A
 * value in the range satisfies them if both are doubles, and need not otherwise.
 */
export interface Range {
  readonly kind: Kind;
  readonly lower: number;
  readonly upper: number;
}

/** Whether a condition compares with a double, so that a range has exactly the doubles that satisfy it. */
export const isExactBound = ({ values }: Condition): boolean =>
  typeof toComparable(values[0] ?? "").number === "number";

/** Returns the range of the comparisons of one path; those of another kind than the first are left out. */
export function toRange(comparisons: readonly Condition[]): Range {
  const operands = comparisons.map(({ values }) => toComparable(values[0] ?? ""));
  const kind = operands[0] === undefined ? "text" : getKind(operands[0]);
  let [lower, upper] = [-Infinity, Infinity];
  for (const [at, { operator }] of comparisons.entries()) {
    const operand = operands[at];
    if (operand === undefined || getKind(operand) !== kind) continue;
    const rank = getRank(kind, operand);
    const isDouble = typeof operand.number === "number";
    if (operator === "gt" || operator === "gte")
      lower = Math.max(lower, operator === "gt" && isDouble ? getNext(rank, 1) : rank);
    else upper = Math.min(upper, operator === "lt" && isDouble ? getNext(rank, -1) : rank);
  }
  return { kind, lower, upper };
}

/** Returns a number that is larger for larger values, and may be the same for values that are close. */
function getRank(kind: Kind, value: Comparable): number {
  if (kind === "number") return typeof value.number === "number" ? value.number : Number(value.text);
  return kind === "instant" ? (value.instant?.seconds ?? 0) : getRankOfText(value.text);
}

const double = new Float64Array(1);
const bits = new BigInt64Array(double.buffer);

/** The next larger double, or with -1 the next smaller one. */
function getNext(number: number, direction: 1 | -1): number {
  if (number === 0) return direction * Number.MIN_VALUE;
  if (!Number.isFinite(number)) return number;
  double[0] = number;
  bits[0] = (bits[0] ?? 0n) + (number > 0 === direction > 0 ? 1n : -1n);
  return double[0];
}

/** By the first characters. */
function getRankOfText(text: string): number {
  let rank = 0;
  for (let at = 0; at < 3; at += 1) rank = rank * 0x1_0001 + getRankOfUnit(text.charCodeAt(at));
  return rank;
}

/** 0 for the end of the text. Surrogates encode the code points above all others. */
function getRankOfUnit(unit: number): number {
  if (Number.isNaN(unit)) return 0;
  if (unit < 0xd800) return unit + 1;
  return unit <= 0xdfff ? unit + 0x2001 : unit - 0x7ff;
}

/** The ranges that topics use at one path, numbered. Finds those that an event's values there are in. */
export class Ranges {
  readonly #numbering = new Numbering();
  readonly #kinds: Readonly<Record<Kind, RangesOfKind>> = {
    number: new RangesOfKind("number"),
    instant: new RangesOfKind("instant"),
    text: new RangesOfKind("text"),
  };
  #hasValues = false;
  #hasDoubles = false;

  acquire(range: Range): number {
    const { number, isNew } = this.#numbering.acquire(`${range.kind} ${range.lower} ${range.upper}`);
    if (isNew) this.#kinds[range.kind].add(number, range);
    return number;
  }

  release(number: number): void {
    const name = this.#numbering.release(number);
    if (name !== undefined) this.#kinds[name.slice(0, name.indexOf(" ")) as Kind].delete(number);
  }

  /** Adds a value of the current event. Returns whether it is the first one. */
  addValue(scalar: Scalar): boolean {
    const isFirst = !this.#hasValues;
    this.#hasValues = true;
    const value = scalarToComparable(scalar);
    this.#hasDoubles = (isFirst || this.#hasDoubles) && typeof value.number === "number";
    this.#kinds.number.addValue(value);
    this.#kinds.instant.addValue(value);
    this.#kinds.text.addValue(value);
    return isFirst;
  }

  /** Whether ranges of times were asked with values that are no times, since the last call. */
  takeMissedTimes(): boolean {
    return this.#kinds.instant.takeMissed();
  }

  /** Whether the values that were found last are all doubles. */
  hasDoubles(): boolean {
    return this.#hasDoubles;
  }

  /** Calls back with the number of each range that the values are in, and forgets the values. */
  find(onFound: (number: number) => void): void {
    this.#hasValues = false;
    this.#kinds.number.find(onFound);
    this.#kinds.instant.find(onFound);
    this.#kinds.text.find(onFound);
  }
}

/**
 * One value may satisfy the lower bound of a range and another one its upper bound, as each condition selects
 * a value by itself. So the smallest and the largest value decide. With a value of another kind, every range
 * is found, unless it is one of times, which are compared with times only.
 */
class RangesOfKind {
  readonly #kind: Kind;
  readonly #ranges = new GrowingIndex((ranges: ReadonlyMap<number, Range>) => new SortedRanges(ranges));
  #size = 0;
  #smallest = Infinity;
  #largest = -Infinity;
  #hasOthers = false;
  #isMissed = false;

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  add(number: number, range: Range): void {
    this.#size += 1;
    this.#ranges.add(number, range);
  }

  delete(number: number): void {
    this.#size -= 1;
    this.#ranges.delete(number);
  }

  addValue(value: Comparable): void {
    if (this.#size === 0) return;
    if (this.#kind !== "text" && getKind(value) !== this.#kind) {
      this.#hasOthers = true;
      if (this.#kind === "instant") return;
      this.#smallest = -Infinity;
      this.#largest = Infinity;
      return;
    }
    const rank = getRank(this.#kind, value);
    // A double that a number was rounded to may be on the other side of a bound.
    const isRounded = this.#kind === "number" && typeof value.number !== "number";
    this.#smallest = Math.min(this.#smallest, isRounded ? getNext(rank, -1) : rank);
    this.#largest = Math.max(this.#largest, isRounded ? getNext(rank, 1) : rank);
  }

  takeMissed(): boolean {
    const isMissed = this.#isMissed;
    this.#isMissed = false;
    return isMissed;
  }

  find(onFound: (number: number) => void): void {
    if (this.#size === 0) return;
    const [smallest, largest] = [this.#smallest, this.#largest];
    this.#isMissed = this.#hasOthers && smallest > largest;
    this.#hasOthers = false;
    this.#smallest = Infinity;
    this.#largest = -Infinity;
    if (smallest > largest) return;
    for (const { index } of this.#ranges.parts) index.find(smallest, largest, onFound);
    for (const [number, { lower, upper }] of this.#ranges.recent)
      if (lower <= largest && upper >= smallest) onFound(number);
  }
}

/**
 * Ranges by their lower bounds, under a binary tree of the largest upper bounds: those that overlap with
 * other bounds are found in time proportional to their number and to the depth of the tree.
 */
class SortedRanges {
  readonly #numbers: Int32Array;
  readonly #lowers: Float64Array;
  /** The children of node n are 2n and 2n + 1; the leaves, in the order of the ranges, begin at `#width`. */
  readonly #uppers: Float64Array;
  readonly #width: number;
  readonly #removed = new Set<number>();

  constructor(ranges: ReadonlyMap<number, Range>) {
    const sorted = [...ranges].sort(([, one], [, other]) => (one.lower < other.lower ? -1 : 1));
    this.#numbers = Int32Array.from(sorted, ([number]) => number);
    this.#lowers = Float64Array.from(sorted, ([, { lower }]) => lower);
    this.#width = 2 ** Math.ceil(Math.log2(sorted.length));
    this.#uppers = new Float64Array(2 * this.#width).fill(-Infinity);
    for (const [at, [, { upper }]] of sorted.entries()) this.#uppers[this.#width + at] = upper;
    for (let node = this.#width - 1; node > 0; node -= 1)
      this.#uppers[node] = Math.max(this.#uppers[2 * node] ?? 0, this.#uppers[2 * node + 1] ?? 0);
  }

  delete(number: number): void {
    this.#removed.add(number);
  }

  /** Calls back with the number of each range that overlaps with two bounds. */
  find(smallest: number, largest: number, onFound: (number: number) => void): void {
    this.#visit(1, 0, this.#width, smallest, largest, onFound);
  }

  /** `start`: the first range below the node, which has the lowest lower bound. */
  #visit(
    node: number,
    start: number,
    width: number,
    smallest: number,
    largest: number,
    onFound: (number: number) => void,
  ): void {
    if ((this.#uppers[node] ?? 0) < smallest || (this.#lowers[start] ?? Infinity) > largest) return;
    if (width > 1) {
      this.#visit(2 * node, start, width / 2, smallest, largest, onFound);
      this.#visit(2 * node + 1, start + width / 2, width / 2, smallest, largest, onFound);
      return;
    }
    const number = this.#numbers[start];
    if (number !== undefined && !this.#removed.has(number)) onFound(number);
  }
}
