import { getCombination, type TopicDefinition } from "./topic.ts";

/** Something that gives up unique values and takes others. */
export interface Exchange {
  readonly freed: readonly string[];
  readonly taken: readonly string[];
}

/** What changes hands where a topic is created, changed or removed. */
export function exchange(before: TopicDefinition | undefined, after: TopicDefinition | undefined): Exchange {
  const [had, has] = [before, after].map((one) => (one === undefined ? [] : getUniqueValues(one)));
  return { freed: without(had, has), taken: without(has, had) };
}

const without = (values: readonly string[] = [], others: readonly string[] = []): string[] =>
  values.filter((value) => !others.includes(value));

/** The values that no two topics may have: the external id, and the combination of the others. */
export const getUniqueValues = (topic: TopicDefinition): readonly [id: string, combination: string] => [
  `id ${topic.externalId}`,
  `combination ${getCombination(topic)}`,
];

/** A value that cannot be taken. */
export interface Conflict<T> {
  readonly value: string;
  /** Which of the others takes it; undefined: it is held, and nothing gives it up. */
  readonly taker: T | undefined;
}

/** Finds those that cannot take their values, which are free for the ones after them. */
export function findConflicts<T extends Exchange>(
  items: readonly T[],
  isHeld: (value: string) => boolean,
): ReadonlyMap<T, readonly Conflict<T>[]> {
  const freed = new Set(items.flatMap((one) => one.freed));
  const takers = new Map<string, T>();
  const conflicts = new Map<T, readonly Conflict<T>[]>();
  for (const item of items) {
    const found = item.taken
      .map((value) => ({ value, taker: takers.get(value) }))
      .filter(({ value, taker }) => taker !== undefined || (isHeld(value) && !freed.has(value)));
    if (found.length > 0) conflicts.set(item, found);
    else for (const value of item.taken) takers.set(value, item);
  }
  return conflicts;
}

interface Visit<T> {
  readonly item: T;
  /** Those that give up what it takes, and are not visited yet. */
  readonly open: T[];
  readonly index: number;
  low: number;
}

/**
 * Groups those that wait for each other to give up a value, which are a ring; most are alone. What a group
 * waits for comes before it (Tarjan's strongly connected components, without recursion).
 */
export function* findRings<T extends Exchange>(items: readonly T[]): Generator<T[]> {
  const holders = new Map(items.flatMap((one) => one.freed.map((value) => [value, one])));
  const visits = new Map<T, Visit<T>>();
  const placed = new Set<T>();
  /** Those whose ring is not complete yet. */
  const pending: T[] = [];
  const begin = (item: T): Visit<T> => {
    const open = item.taken.flatMap((value) => holders.get(value) ?? []).filter((one) => one !== item);
    const visit = { item, open, index: visits.size, low: visits.size };
    visits.set(item, visit);
    pending.push(item);
    return visit;
  };
  for (const start of items) {
    const path = visits.has(start) ? [] : [begin(start)];
    for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
      const next = visit.open.pop();
      const known = next && visits.get(next);
      if (next !== undefined && known === undefined) path.push(begin(next));
      else if (known !== undefined) {
        if (!placed.has(known.item)) visit.low = Math.min(visit.low, known.index);
      } else {
        path.pop();
        const parent = path.at(-1);
        if (parent !== undefined) parent.low = Math.min(parent.low, visit.low);
        if (visit.low !== visit.index) continue;
        const ring = pending.splice(pending.lastIndexOf(visit.item));
        for (const item of ring) placed.add(item);
        yield ring;
      }
    }
  }
}
