import type { AbstractCursor, Collection, Document, Filter, FindOptions } from "mongodb";

import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import { scheduleSoon } from "@topicsync/lib/platform";
import { compareTexts } from "@topicsync/filters";
import type { Namespaces } from "../users/rights.ts";
import { maxListMs } from "./database/client-options.ts";
import type { Database } from "./database/database.ts";

/** The value of a field that a list is sorted by. */
export type SortValue = string | number | Date;

/** Compares the values that two records are sorted by, the largest first. */
export function compareDescending(one: readonly SortValue[], other: readonly SortValue[]): number {
  for (const [at, value] of one.entries()) {
    const [a, b] = [value, other[at] ?? value].map((some) => (some instanceof Date ? some.getTime() : some));
    const order = typeof a === "string" ? compareTexts(String(b), a) : Number(b) - Number(a);
    if (order !== 0) return order;
  }
  return 0;
}

interface PageQuery<R extends Document> {
  readonly filter: Filter<R>;
  /** The fields of the order, which begin an index; no two records share the values of all of them. */
  readonly sort: readonly string[];
  readonly descending?: boolean | undefined;
  /** The values of the sort fields in the last record of the page before. */
  readonly after: readonly SortValue[] | undefined;
  readonly limit: number;
}

interface Page<R> {
  readonly records: R[];
  /** The `after` of the next page; undefined when there is none. */
  readonly next: SortValue[] | undefined;
}

/** Reads one page of a list (keyset pagination). To be called within `Database.list`, for people. */
export async function findPage<R extends Document>(
  collection: Collection<R>,
  { filter, sort, descending = false, after, limit }: PageQuery<R>,
): Promise<Page<R>> {
  const direction = descending ? -1 : 1;
  const bounded = after === undefined ? filter : matchAll<R>([filter, toBoundary(sort, descending, after)]);
  const found = collection.find(bounded, {
    sort: Object.fromEntries(sort.map((field) => [field, direction] as const)),
    // One more record than requested shows whether there is a next page.
    limit: limit + 1,
    batchSize: limit + 2,
    maxTimeMS: maxListMs,
  });
  const records = (await found.toArray()) as R[];
  const hasNext = records.length > limit;
  if (hasNext) records.length = limit;
  const last = hasNext ? records.at(-1) : undefined;
  return { records, next: last && sort.map((field) => last[field] as SortValue) };
}

/** The records that meet all of these conditions. */
export function matchAll<R>(conditions: readonly Filter<R>[]): Filter<R> {
  const given = conditions.filter((one) => Object.keys(one).length > 0);
  return given.length > 1 ? ({ $and: given } as Filter<R>) : (given[0] ?? {});
}

/** The records after these values in an order: `a > 1 or (a = 1 and b > 2) or …`. */
export function toBoundary<R>(
  sort: readonly string[],
  descending: boolean,
  after: readonly SortValue[],
): Filter<R> {
  const operator = descending ? "$lt" : "$gt";
  const branches = sort.map((field, i) => ({
    ...Object.fromEntries(sort.slice(0, i).map((before, j) => [before, after[j]])),
    [field]: { [operator]: after[i] },
  }));
  const [first] = branches;
  // Redundant, but it bounds the scan whichever index plan MongoDB chooses for the `$or`.
  const bound = { [sort[0] ?? "_id"]: { [`${operator}e`]: after[0] } };
  return (branches.length === 1 ? first : { ...bound, $or: branches }) as Filter<R>;
}

/** The ids after one and up to another. */
export function toIdRange<R extends Document>(
  afterId: string | undefined,
  endId: string | undefined,
): Filter<R> {
  if (afterId === undefined && endId === undefined) return {};
  const after = afterId === undefined ? {} : { $gt: afterId };
  const end = endId === undefined ? {} : { $lte: endId };
  return { _id: { ...after, ...end } } as Filter<R>;
}

/** The id this many records after another; undefined when fewer are left. */
export async function findRangeEnd<R extends { _id: string }>(
  collection: Collection<R>,
  afterId: string | undefined,
  size: number,
): Promise<string | undefined> {
  const [end] = await collection
    .find(toIdRange(afterId, undefined), {
      sort: { _id: 1 },
      hint: { _id: 1 },
      skip: size - 1,
      limit: 1,
      projection: { _id: 1 },
    })
    .toArray();
  return end?._id;
}

const valuesPerLookup = 200;

/** The records whose field has one of these values. Throws UnavailableError. */
export async function findByValues<R extends Document>(
  database: Database,
  collection: Collection<R>,
  [field, values]: readonly [field: string, values: readonly string[]],
  options: FindOptions = {},
): Promise<R[]> {
  const found = await Promise.all(
    splitIntoBatches(values, valuesPerLookup).map((some) =>
      // The batch size brings each look-up in a single response.
      database.run(() =>
        collection
          .find({ [field]: { $in: some } } as Filter<R>, { ...options, batchSize: some.length + 1 })
          .toArray(),
      ),
    ),
  );
  return found.flat() as R[];
}

/** The texts that begin with a prefix. Unlike for a regular expression, every store uses an index for it. */
export const toPrefixRange = (prefix: string): { $gte: string; $lt: string } => ({
  $gte: prefix,
  $lt: `${prefix}\u{10FFFF}`,
});

interface NamespaceCondition {
  namespace: { $in: string[] } | { $gte: string; $lt: string };
}

/** The records whose `namespace` is among these; undefined for all records. */
export function toNamespaceFilter(
  namespaces: Namespaces,
): NamespaceCondition | { $or: NamespaceCondition[] } | undefined {
  if (namespaces === "all") return undefined;
  const named = { namespace: { $in: namespaces.map(({ namespace }) => namespace) } };
  const below = namespaces
    .filter((one) => one.below)
    .map(({ namespace }) => ({ namespace: toPrefixRange(`${namespace}.`) }));
  return below.length === 0 ? named : { $or: [named, ...below] };
}

/** The cursor of a stream, and whether people list its records or the program needs them. */
interface Stream<R> {
  readonly cursor: AbstractCursor<R>;
  readonly as: "list" | "run";
}

/** Yields the records of a cursor, converted; see streamBatches. */
export async function* streamRecords<R, T>(
  database: Database,
  stream: Stream<R>,
  convert: (record: R) => T,
): AsyncGenerator<T> {
  for await (const batch of streamBatches(database, stream, convert)) yield* batch;
}

/**
 * Yields the batches of a cursor, converted, as fast as they are consumed, and closes the cursor. Records
 * that are written during this time may be missing. Throws UnavailableError.
 */
export async function* streamBatches<R, T>(
  database: Database,
  { cursor, as }: Stream<R>,
  convert: (record: R) => T,
): AsyncGenerator<readonly T[]> {
  const fetchNext = (): Promise<boolean> => {
    const fetched = database[as](() => cursor.hasNext());
    // Nobody awaits the last one when the consumer stops early.
    fetched.catch(() => undefined);
    return fetched;
  };
  try {
    let fetched = fetchNext();
    while (await fetched) {
      const records = cursor.readBufferedDocuments();
      // The store prepares the next records while these are consumed.
      fetched = fetchNext();
      // The driver sends the request at the end of this turn, not while the records are converted.
      await new Promise<void>((resolve) => scheduleSoon(resolve));
      yield records.map(convert);
    }
  } finally {
    // The server drops idle cursors; a failure here must not hide why reading ended.
    await cursor.close().catch(() => undefined);
  }
}
