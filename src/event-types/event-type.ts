/** The kinds of JSON values. */
export const valueKinds = ["string", "number", "boolean", "null", "object", "list"] as const;

export type ValueKind = (typeof valueKinds)[number];

/** What was seen at a path of the events of a type. */
export interface PathStatistics {
  /** From the root of the event. `*` stands for any name: the member has too many names, or unusual ones. */
  readonly path: readonly string[];
  /** The number of events that have the path. */
  readonly events: number;
  /** In how many events it has a value of each kind. An event with a list may have several. */
  readonly kinds: Readonly<Record<ValueKind, number>>;
  /** In how many events it has a string that reads as a number, or as an RFC 3339 time. */
  readonly texts: { readonly number: number; readonly time: number };
  /** All values, if they are few. */
  readonly values?: readonly string[] | undefined;
}

/** A path, with the names below it. */
export interface KnownPath {
  readonly names: readonly string[];
  readonly statistics: PathStatistics;
}

/** What the events of a type in a sample look like. */
export interface EventType {
  readonly name: string;
  readonly events: number;
  /** False once a limit kept a path out. */
  readonly isComplete: boolean;
  /** Each after that of its parent. */
  readonly paths: readonly PathStatistics[];
  /** What is known of a path: "open" if it may occur unseen. */
  readonly find: (path: readonly string[]) => KnownPath | "open" | undefined;
}

/** What the last events look like. */
export interface EventSample {
  readonly events: number;
  /** The number of records that are not events. */
  readonly rejected: number;
  /** The timestamps of the first and the last event; undefined without any. */
  readonly from: Date | undefined;
  readonly to: Date | undefined;
  /** The most frequent first. */
  readonly types: readonly EventType[];
  /** False if there were so many types that some are not known. */
  readonly hasAllTypes: boolean;
}

/** What somebody may see of a sample. */
export interface SampleAccess {
  /** Whether values are shown, and filters compared with them: warnings quote them. */
  readonly showsValues: boolean;
}

/** Stands for the type of events without an `eventType`. */
export const untyped = "-";

/** The `eventType` of the events of a type. */
export const getEventType = ({ name }: EventType): string | undefined =>
  name === untyped ? undefined : name;

/** Bounds of what is kept of a sample, so that hostile events cost little. */
export const structureLimits = {
  types: 1_000,
  /** Of all types together: some 25 MB. */
  paths: 50_000,
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
} as const;
