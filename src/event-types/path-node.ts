import type { PathStatistics } from "./event-type.ts";

/** The kinds of values, and the strings that read as numbers and as times. */
const createCounts = () => ({
  ...{ string: 0, number: 0, boolean: 0, null: 0, object: 0, list: 0 },
  ...{ numberText: 0, timeText: 0 },
});

export type Counted = keyof ReturnType<typeof createCounts>;

/** A path with what was seen there. Counts are in events. */
export class PathNode {
  /** Created with the first, like the values: most paths have none. */
  children: Map<string, PathNode> | undefined;
  /** Characters of the path. */
  readonly length: number;
  events = 0;
  readonly counts = createCounts();
  /** The last event that had the path, and what was counted of it. */
  lastEvent = 0;
  lastCounted: readonly Counted[] = [];
  values: Set<string> | undefined;
  /** How often there was a value. */
  valueCount = 0;
  hasManyValues = false;
  /** Whether `*` stands for all names below it. */
  isMap = false;

  constructor(length: number) {
    this.length = length;
  }

  /** Counts something of the last event, once. */
  count(what: Counted): void {
    if (this.lastCounted.includes(what)) return;
    this.lastCounted = [...this.lastCounted, what];
    this.counts[what] += 1;
  }
}

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
  const { events, values = new Set(), valueCount } = node;
  const { numberText: number, timeText: time, ...kinds } = node.counts;
  const areFew = values.size > 0 && valueCount >= values.size * minUsesPerValue;
  return { path, events, kinds, texts: { number, time }, ...(areFew && { values: [...values] }) };
}
