import type { PathStatistics } from "./event-type.ts";

/** The kinds, then the strings that read as numbers and as times. */
export const counted = {
  string: 0,
  number: 1,
  boolean: 2,
  null: 3,
  object: 4,
  list: 5,
  numberText: 6,
  timeText: 7,
};

/** A path with what was seen there. Counts are in events. */
export interface PathNode {
  /** Created with the first, like the values: most paths have none. */
  children: Map<string, PathNode> | undefined;
  /** Characters of the path. */
  readonly length: number;
  events: number;
  readonly counts: number[];
  /** The last event that had the path, and what was counted of it: bits of `counted`. */
  lastEvent: number;
  lastCounted: number;
  values: Set<string> | undefined;
  /** How often there was a value. */
  valueCount: number;
  hasManyValues: boolean;
  /** Whether `*` stands for all names below it. */
  isMap: boolean;
}

export const createNode = (length: number): PathNode => ({
  children: undefined,
  length,
  events: 0,
  counts: [0, 0, 0, 0, 0, 0, 0, 0],
  lastEvent: 0,
  lastCounted: 0,
  values: undefined,
  valueCount: 0,
  hasManyValues: false,
  isMap: false,
});

interface Place {
  readonly node: PathNode;
  readonly path: readonly string[];
}

/** Yields the nodes below and including one, each after its parent. */
export function* walk(node: PathNode, path: readonly string[]): Generator<Place> {
  if (path.length > 0) yield { node, path };
  for (const [name, child] of node.children ?? []) yield* walk(child, [...path, name]);
}

/** Values that hardly repeat are not a set that a filter can name, and may identify somebody. */
const minUsesPerValue = 10;

export function toStatistics({ node, path }: Place): PathStatistics {
  const count = (index: number): number => node.counts[index] ?? 0;
  const kinds = {
    string: count(counted.string),
    number: count(counted.number),
    boolean: count(counted.boolean),
    null: count(counted.null),
    object: count(counted.object),
    list: count(counted.list),
  };
  const { values = new Set(), valueCount } = node;
  const areFew = values.size > 0 && valueCount >= values.size * minUsesPerValue;
  return {
    path,
    events: node.events,
    kinds,
    texts: { number: count(counted.numberText), time: count(counted.timeText) },
    ...(areFew && { values: [...values] }),
  };
}
