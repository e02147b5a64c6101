import type { Collection, Document, Filter } from "mongodb";

import type { Mark, Place } from "../topics/list-cursor.ts";

type Conditions = Readonly<Record<string, unknown>>;

/** An order in which an index has the records of a collection. */
export interface IndexOrder {
  /** The members of the index, the last of which no two records share. */
  readonly members: readonly [string, ...string[]];
  /** No value of the first member is below it: SecantusDB takes a partial index only where its member is asked for. */
  readonly least: string | Date;
  /** Which of the records are signposts; see walkIndex. */
  readonly signposts: Conditions;
}

export interface Walk {
  readonly order: IndexOrder;
  readonly descending: boolean;
  readonly behind: Place | undefined;
  /** Bounds on the first member of the order. */
  readonly bounds: Conditions;
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
 * no question may be about more than a stretch of the index: it ends at the next *signpost*, a record whose random id
 * begins with zeros, one of about 512, which partial indexes find. Where a stretch has fewer records than the limit, they are
 * what is given. Behind a place of several members lie those that share all but the last of them, then those that share
 * all but the last two, and so on: each is a stretch of its own, since `$or` is not for every store.
 */
export async function walkIndex<R extends Document>(
  collection: Collection<R>,
  { order: { members, least, signposts }, descending, behind, bounds, meant, limit }: Walk,
): Promise<Walked<R>> {
  const [first] = members;
  const direction = descending ? -1 : 1;
  const [further, upTo] = descending ? ["$lt", "$gte"] : ["$gt", "$lte"];
  const ahead = { $gte: least, ...bounds, ...(behind && { [further]: behind[0] }) };
  const find = (filter: Conditions, sort: Readonly<Record<string, 1 | -1>>, most: number) =>
    collection.find(filter as Filter<R>, { sort, limit: most, batchSize: most + 1 });

  const posts = find({ [first]: ahead, ...signposts }, { [first]: direction }, 1);
  const [signpost] = await posts.project({ [first]: 1 }).toArray();
  const end = signpost && { place: placeIn(signpost, [first]), id: signpost["_id"] as string };

  const stretch = { [first]: { ...ahead, ...(end && { [upTo]: end.place[0] }) } };
  const ranges = [...sharing(members, behind?.slice(0, members.length), further), stretch];
  const sort = Object.fromEntries(members.map((member) => [member, direction] as const));
  const records: R[] = [];
  for (const range of ranges) {
    const most = limit + 1 - records.length;
    records.push(...((await find({ ...range, ...meant }, sort, most).toArray()) as R[]));
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

/** The records that share the first members of a place and lie behind it in the next, those nearest first. */
function sharing(members: readonly string[], behind: Place = [], further: string): Conditions[] {
  const ranges = behind.slice(1).map((value, at) => ({
    ...Object.fromEntries(members.slice(0, at + 1).map((member, i) => [member, behind[i]])),
    [members[at + 1] ?? ""]: { [further]: value },
  }));
  return ranges.reverse();
}
