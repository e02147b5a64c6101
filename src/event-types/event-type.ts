/** The kinds of JSON values. */
export const valueKinds = ["string", "number", "boolean", "null", "object", "list"] as const;

export type ValueKind = (typeof valueKinds)[number];

/** What was seen at a path of the sampled events of a type. */
export interface PathStatistics {
  /** From the root of the event. `*` stands for any name: the member has too many names, or unusual ones. */
  readonly path: readonly string[];
  /** The number of sampled events that have the path. */
  readonly events: number;
  /** In how many events it has a value of each kind. An event with a list may have several. */
  readonly kinds: Readonly<Record<ValueKind, number>>;
  /** In how many events it has a string that reads as a number, or as an RFC 3339 time. */
  readonly texts: { readonly number: number; readonly time: number };
  readonly firstOn: Date;
  readonly lastOn: Date;
  /** Set on a `*` that stands for all names: no others are kept beside it. */
  readonly isOnlyName?: true | undefined;
  /** All values, if they are stored and few. */
  readonly values?: readonly string[] | undefined;
  /** Set once there were too many values, or long ones. */
  readonly hasManyValues?: true | undefined;
}

/** The number of events of a type, and when they occurred. */
interface EventCounts {
  readonly events: number;
  /** How many of them were looked into. */
  readonly sampled: number;
  readonly firstOn: Date;
  readonly lastOn: Date;
  /** False once a limit kept a path out. */
  readonly isComplete: boolean;
}

/** What was seen of an event type in a while. */
export interface TypeStatistics extends EventCounts {
  readonly paths: readonly PathStatistics[];
}

interface KnownCounts extends EventCounts {
  readonly name: string;
  /** The time of the first sampled event: what was seen before is forgotten. */
  readonly sampledSince: Date;
}

/** An event type without its paths. */
export interface EventTypeSummary extends KnownCounts {
  readonly pathCount: number;
}

export interface EventType extends KnownCounts {
  readonly paths: readonly PathStatistics[];
}

/** Stands for the type of events without an `eventType`. */
export const untyped = "-";

/** Bounds of what is learned, so that hostile events cost little. */
export const learningLimits = {
  types: 1_000,
  pathsPerType: 1_000,
  levels: 32,
  namesPerMember: 200,
  nameLength: 64,
  pathLength: 500,
  typeLength: 200,
  valuesPerPath: 50,
  valueLength: 64,
  valueCharactersPerType: 500_000,
  /** Of one event. */
  valuesVisited: 5_000,
  /** Of a list, and of a member whose names are not kept. */
  elementsVisited: 100,
  /** After this many sampled events, what was seen before the last as many is forgotten. */
  eventsPerGeneration: 100_000,
} as const;
