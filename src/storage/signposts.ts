import type { Collection, Document, Filter } from "mongodb";

import type { Mark, Place } from "../topics/list-cursor.ts";

/** Bounds on the value of a member. */
export interface Bounds {
  readonly $gte?: string;
  readonly $lt?: string;
}

/** Where a walk through an order looks for the next signpost. */
export interface Ahead {
  readonly descending: boolean;
  readonly behind: Place | undefined;
  /** Of the first member. */
  readonly bounds: Bounds;
}

/** Remembers where in each order of a collection its *signposts* lie: records whose random id begins with zeros, one of 256. */
export interface Signposts {
  /** The place of the next one in the order of these members; undefined when there is none. Throws what MongoDB throws. */
  next(members: readonly string[], ahead: Ahead): Promise<Mark | undefined>;
}

/** The id of a signpost is below this. */
export const signpostIds = { $lt: "01" } as const;

/** For so long it is believed that they are where they were; then they are looked up while the old ones still serve. */
const freshForMs = 30_000;
/** For so long the old ones serve: whatever was stored since then lies between them. */
const servesForMs = 60_000;

interface Known {
  readonly at: number;
  readonly records: readonly Document[];
  /** In the order of these members, made when it is asked for. */
  readonly orders: Map<readonly string[], readonly Signpost[]>;
}

interface Signpost {
  readonly keys: readonly string[];
  readonly mark: Mark;
}

/** Makes the memory of a collection's signposts, the records with `filter`; it looks them up when it is asked. */
export function createSignposts<R extends Document>(
  collection: Collection<R>,
  filter: Filter<R>,
  projection: Readonly<Record<string, 1>>,
): Signposts {
  let known: Known | undefined;
  let looking: Promise<Known> | undefined;

  async function lookUp(): Promise<Known> {
    const at = performance.now();
    known = { at, records: await collection.find(filter, { projection }).toArray(), orders: new Map() };
    return known;
  }

  async function latest(): Promise<Known> {
    const age = performance.now() - (known?.at ?? -Infinity);
    if (known !== undefined && age < freshForMs) return known;
    looking ??= lookUp().finally(() => (looking = undefined));
    if (known === undefined || age > servesForMs) return looking;
    looking.catch(() => undefined);
    return known;
  }

  return {
    async next(members, { descending, behind, bounds }) {
      const { records, orders } = await latest();
      const signposts = orders.get(members) ?? inOrder(records, members);
      orders.set(members, signposts);
      const [from, to] = [bounds.$gte, bounds.$lt].map((bound) =>
        bound === undefined ? undefined : [keyOf(bound)],
      );
      const last = behind?.map(keyOf);
      const isAhead = ({ keys }: Signpost): boolean =>
        (from === undefined || compare(keys, from) >= 0) &&
        (to === undefined || compare(keys, to) < 0) &&
        (last === undefined || (descending ? compare(keys, last) < 0 : compare(keys, last) > 0));
      return (descending ? signposts.findLast(isAhead) : signposts.find(isAhead))?.mark;
    },
  };
}

function inOrder(records: readonly Document[], members: readonly string[]): Signpost[] {
  return records
    .filter((record) => members.every((member) => isPlace(record[member])))
    .map((record) => {
      const place = members.map((member) => record[member] as Place[number]);
      return { keys: place.map(keyOf), mark: { place, id: record["_id"] as string } };
    })
    .sort((a, b) => compare(a.keys, b.keys));
}

/** A record that somebody else wrote may lack a member. */
const isPlace = (value: unknown): boolean => typeof value === "string" || value instanceof Date;

/** Compares as far as both go. */
function compare(some: readonly string[], others: readonly string[]): number {
  for (let at = 0; at < Math.min(some.length, others.length); at += 1) {
    const [one = "", other = ""] = [some[at], others[at]];
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}

/** A text that compares as MongoDB compares the values: by the bytes of UTF-8, which JavaScript does not. */
const keyOf = (value: string | Date): string =>
  typeof value === "string" ? Buffer.from(value).toString("latin1") : value.toISOString();
