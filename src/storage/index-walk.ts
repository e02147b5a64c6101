import type { Collection, Document, Filter } from "mongodb";

import type { Mark, Place } from "../topics/list-cursor.ts";
import type { Bounds, Signposts } from "./signposts.ts";

type Conditions = Readonly<Record<string, unknown>>;

/** An order in which an index has the records of a collection. */
export interface IndexOrder {
  /** The members of the index, the last of which no two records share. */
  readonly members: readonly [string, ...string[]];
  /** Those that it takes to tell most records apart. */
  readonly telling: readonly string[];
  /** No value of the first member is below it: a question about all records is about those of this order too. */
  readonly least: string | Date;
}

export interface Walk {
  readonly order: IndexOrder;
  readonly descending: boolean;
  readonly behind: Place | undefined;
  /** Bounds on the first member of the order. */
  readonly bounds: Bounds;
  /** What else has to hold of a record. */
  readonly meant: Conditions;
  readonly limit: number;
}

/** What was found of a walk, in order. */
export interface Walked<R> {
  readonly records: readonly R[];
  /** What was looked at last; undefined when there is nothing behind it. */
  readonly last: Mark | undefined;
}

/**
 * The next records behind a place. SecantusDB reads all that a question is about before it gives the first `limit` of them, so
 * no question may be about more than a stretch of the index: it ends at the next signpost. Where a stretch has fewer records
 * than the limit, they are what is given.
 */
export async function walkIndex<R extends Document>(
  { collection, signposts }: { readonly collection: Collection<R>; readonly signposts: Signposts },
  { order: { members, telling, least }, descending, behind, bounds, meant, limit }: Walk,
): Promise<Walked<R>> {
  const direction = descending ? -1 : 1;
  const end = await signposts.next(telling, { descending, behind, bounds });
  const ranges = rangesOf({
    members,
    descending,
    behind,
    end: end?.place,
    bounds: { $gte: least, ...bounds },
  });
  const sort = Object.fromEntries(members.map((member) => [member, direction] as const));
  const records: R[] = [];
  for (const range of ranges) {
    const most = limit + 1 - records.length;
    const filter = { ...range, ...meant } as Filter<R>;
    const found = collection.find(filter, { sort, limit: most, batchSize: most + 1 });
    records.push(...((await found.toArray()) as R[]));
    if (records.length <= limit) continue;
    const shown = records.slice(0, limit);
    const last = shown.at(-1);
    return { records: shown, last: last && { place: placeIn(last, members), id: last["_id"] as string } };
  }
  return { records, last: end };
}

/** The values that a record has in an order. */
export const placeIn = (record: Document, members: readonly string[]): Place =>
  members.map((member) => record[member] as Place[number]);

/**
 * The records behind a place, up to an end that is included, as ranges in an index: those that share all but the last value of the
 * place, those that share all but the last two, and so on; those between; then the same way down to the end. Each is a question of its own,
 * since `$or` is not for every store.
 */
function rangesOf({
  members,
  descending,
  behind = [],
  end = [],
  bounds,
}: Pick<IndexOrder, "members"> & {
  readonly descending: boolean;
  readonly behind: Place | undefined;
  readonly end: Place | undefined;
  readonly bounds: Conditions;
}): Conditions[] {
  const [further, before, upTo] = descending ? ["$lt", "$gt", "$gte"] : ["$gt", "$lt", "$lte"];
  const from = behind.slice(0, members.length);
  const shared = sharedBy(from, end);
  const range = (place: Place, at: number, condition: Conditions): Conditions => ({
    ...Object.fromEntries(members.slice(0, at).map((member, i) => [member, place[i]])),
    [members[at] ?? ""]: condition,
  });
  const behindAt = (at: number): Conditions => (at in from ? { [further]: from[at] } : {});
  const endAt = (at: number): Conditions =>
    at in end ? { [at === end.length - 1 ? upTo : before]: end[at] } : {};

  const leaving = from.map((_, at) => range(from, at, behindAt(at))).slice(shared + 1);
  const between = range(end, shared, {
    ...(shared === 0 ? bounds : {}),
    ...behindAt(shared),
    ...endAt(shared),
  });
  const reaching = end.map((_, at) => range(end, at, endAt(at))).slice(shared + 1);
  return [...leaving.reverse(), between, ...reaching];
}

/** How many first values two places share. */
function sharedBy(one: Place, other: Place): number {
  const differs = one.findIndex((value, at) => value.valueOf() !== other[at]?.valueOf());
  return differs === -1 ? Math.min(one.length, other.length) : differs;
}
