import {
  learningLimits,
  untyped,
  type EventType,
  type EventTypeSummary,
  type PathStatistics,
} from "./event-type.ts";
import { anyName } from "./structure.ts";

/** What is known about events, to compare filters with. */
export interface EventKnowledge {
  readonly types: readonly KnownType[];
  /** False if there are so many types that some are not known. */
  readonly hasAllTypes: boolean;
}

export interface KnownType extends EventTypeSummary {
  /** Undefined if its paths were not loaded: there are too many. */
  readonly paths: readonly PathStatistics[] | undefined;
  /** What is known of a path: "open" if it may occur unseen. */
  find(path: readonly string[]): KnownPath | "open" | undefined;
}

/** A path, with the names below it. */
export interface KnownPath {
  readonly children: ReadonlyMap<string, KnownPath>;
  readonly statistics: PathStatistics | undefined;
}

interface PathNode extends KnownPath {
  readonly children: Map<string, PathNode>;
  statistics: PathStatistics | undefined;
}

/** Of all types together: some 25 MB. */
const maxPaths = 50_000;

/** Loads the types, the most frequent first. */
export async function loadKnowledge(
  summaries: readonly EventTypeSummary[],
  findAll: (names: readonly string[]) => Promise<readonly EventType[]>,
): Promise<EventKnowledge> {
  let room = maxPaths;
  const wanted = summaries.filter(({ pathCount }) => pathCount <= room && (room -= pathCount) >= 0);
  const found = new Map((await findAll(wanted.map(({ name }) => name))).map((type) => [type.name, type]));
  return {
    types: summaries.map((summary) => toKnownType(summary, found.get(summary.name))),
    hasAllTypes: summaries.length < learningLimits.types,
  };
}

function toKnownType(summary: EventTypeSummary, type: EventType | undefined): KnownType {
  const root = createNode();
  for (const statistics of type?.paths ?? []) {
    let node = root;
    for (const name of statistics.path) {
      let child = node.children.get(name);
      if (child === undefined) node.children.set(name, (child = createNode()));
      node = child;
    }
    node.statistics = statistics;
  }
  return {
    ...summary,
    ...type,
    paths: type?.paths,
    find(path) {
      if (type === undefined || type.sampled === 0) return "open";
      let node = root;
      for (const name of path) {
        const child = node.children.get(name);
        if (child === undefined || name === anyName) return node.children.has(anyName) ? "open" : undefined;
        node = child;
      }
      return node;
    },
  };
}

const createNode = (): PathNode => ({ children: new Map(), statistics: undefined });

/** The `eventType` of the events of a type. */
export const getEventType = ({ name }: KnownType): string | undefined =>
  name === untyped ? undefined : name;
