import { measureDistance } from "@topicsync/lib/nearest";

const maxSuggestions = 3;
/** More frequent ones are compared first. */
const maxCandidates = 5_000;

interface Ranked<T> {
  readonly candidate: T;
  readonly rank: readonly number[];
}

/** Sorts candidates by rank, then by frequency; those without a rank are left out. */
export function suggest<T>(
  candidates: readonly T[],
  getRank: (candidate: T) => readonly number[] | undefined,
  getFrequency: (candidate: T) => number = () => 0,
): T[] {
  const considered = candidates.length <= maxCandidates ? candidates : candidates.slice(0, maxCandidates);
  return considered
    .flatMap((candidate): Ranked<T>[] => {
      const rank = getRank(candidate);
      return rank === undefined ? [] : [{ candidate, rank: [...rank, -getFrequency(candidate)] }];
    })
    .toSorted((a, b) => compareRanks(a.rank, b.rank))
    .slice(0, maxSuggestions)
    .map(({ candidate }) => candidate);
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (const [at, value] of a.entries()) {
    const difference = value - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Ranks a text: the same in other case, then few edits. Undefined if it is too different. */
export function rankText(given: string, candidate: string): readonly [number, number] | undefined {
  if (given.toLowerCase() === candidate.toLowerCase()) return [0, 0];
  const edits = countEdits(given, candidate);
  return edits === undefined ? undefined : [1, edits];
}

/**
 * Ranks a path: the same in other case, few edits per name, the same last name elsewhere, then a last name
 * with few edits elsewhere. Both paths begin at the root of the event. Undefined if it is too different.
 */
export function rankPath(
  given: readonly string[],
  candidate: readonly string[],
): readonly number[] | undefined {
  const edits = given.length === candidate.length ? countPathEdits(given, candidate) : undefined;
  if (edits !== undefined) return [edits === 0 ? 0 : 1, edits, 0];
  const [last = "", other = ""] = [given.at(-1), candidate.at(-1)];
  if (last === other) return [2, -countRelatedNames(given, candidate), candidate.length];
  const lastEdits = last.length > shortLength ? countEdits(last, other) : undefined;
  return lastEdits === undefined ? undefined : [4, lastEdits, -countRelatedNames(given, candidate)];
}

/** Edits of all names; differences in case alone are none. */
function countPathEdits(given: readonly string[], candidate: readonly string[]): number | undefined {
  let sum = 0;
  for (const [at, name] of given.entries()) {
    const other = candidate[at] ?? "";
    if (name.toLowerCase() === other.toLowerCase()) continue;
    const edits = countEdits(name, other);
    if (edits === undefined) return undefined;
    sum += edits;
  }
  return sum;
}

/** How many names of one path occur in the other, also as a part of a name. */
const countRelatedNames = (given: readonly string[], candidate: readonly string[]): number =>
  given.filter((name) => candidate.some((other) => isRelated(name.toLowerCase(), other.toLowerCase())))
    .length;

const isRelated = (one: string, other: string): boolean => one.includes(other) || other.includes(one);

const shortLength = 4;

/** Undefined if it is more than two, or more than one in a short name. */
function countEdits(given: string, candidate: string): number | undefined {
  const max = given.length <= shortLength ? 1 : 2;
  const edits = measureDistance(given, candidate, max);
  return edits <= max ? edits : undefined;
}
