import type { TopicView } from "../../schemas/topic-view.ts";
import { createCursorFormat, createCursorError, type CursorFormat } from "../lib/cursor.ts";
import { maxPageBytes, measureRecords, recordsPerRead } from "../lib/page-bytes.ts";
import type { PickableTopic } from "../matching/feed.ts";
import type { Namespaces } from "../users/rights.ts";
import type { ListedTopic, Source } from "./topic.ts";

/** Active topics are sorted by one of the first three, others by the time of their retirement. */
export type TopicSort = "externalId" | "name" | "changed" | "retired";

export interface TopicOrder {
  readonly sort: TopicSort;
  readonly descending: boolean;
}

/** Which topics to list. Absent members match every topic. */
export interface TopicQuery {
  readonly state: TopicView["state"];
  readonly externalIds?: readonly string[] | undefined;
  readonly externalIdPrefix?: string | undefined;
  readonly exceptExternalIdPrefix?: string | undefined;
  readonly name?: string | undefined;
  readonly namePrefix?: string | undefined;
  readonly namespace?: string | undefined;
  /** Only topics in one of these. */
  readonly namespaces?: Namespaces | undefined;
  readonly source?: Source["kind"] | undefined;
}

/** What a topic is sorted by; no two topics of a list share it. */
export type TopicSortKey = readonly (string | Date)[];

/** Reads active and retired topics, for lists. Every function throws UnavailableError. */
export interface TopicReader {
  /** Returns at most `limit` topics after a sort key. */
  readSorted(
    query: TopicQuery,
    from: { readonly order: TopicOrder; readonly after: TopicSortKey | undefined; readonly limit: number },
  ): Promise<ListedTopic[]>;
  /** Streams all topics: active ones by external id, the others by retirement, the latest first. */
  readAll(query: TopicQuery): AsyncGenerator<ListedTopic>;
  /** Streams what picking needs of all active topics, unordered. Topics written in between may be missing. */
  streamPickable(): AsyncGenerator<PickableTopic>;
  /** Estimates the number of active topics from metadata. */
  estimateCount(): Promise<number>;
  /**
   * Finds the active or else the latest retired topic of an external id, or else the active one of a sys_id.
   */
  find(id: string): Promise<ListedTopic | undefined>;
}

/** Which topics a page shows. */
export interface TopicPageQuery extends Pick<TopicQuery, "state" | "namespace" | "namespaces" | "source"> {
  /** Of active topics without a search; by external id unless given. */
  readonly order?: TopicOrder | undefined;
  /** Topics whose external id begins with this text, followed by active ones whose name does. */
  readonly search?: string | undefined;
  /** Keeps some of the topics that were read. */
  readonly select?: ((topics: readonly ListedTopic[]) => Promise<ListedTopic[]>) | undefined;
}

/** With `select`, a page ends after so many topics, although it may be empty. */
const maxReadPerPage = 10_000;

interface TopicPage {
  readonly topics: readonly ListedTopic[];
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/**
 * Returns at most `limit` topics after a cursor, and fewer if they are large. Throws a RejectionError for a
 * bad cursor, and UnavailableError.
 */
export async function readTopicPage(
  reader: TopicReader,
  { select, ...query }: TopicPageQuery,
  { after: cursor, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<TopicPage> {
  const lists = toSortedQueries(query);
  const start = cursor === undefined ? undefined : await resolveCursor(reader, lists, cursor);
  let after = start?.after;
  const found: OrderedTopic[] = [];
  let lastRead: OrderedTopic | undefined;
  let bytes = 0;
  let read = 0;
  const isFull = (): boolean => found.length > limit || bytes >= maxPageBytes;
  const isLong = (): boolean => select !== undefined && read >= maxReadPerPage;
  for (const { query: part, order } of lists.slice(start?.first)) {
    for (let hasMore = true; hasMore && !isFull() && !isLong();) {
      // Fetch one extra row to know whether there is a next page.
      const wanted = select ? recordsPerRead : Math.min(limit + 1 - found.length, recordsPerRead);
      const topics = await reader.readSorted(part, { order, after, limit: wanted });
      const selected = select ? await select(topics) : topics;
      found.push(...selected.map((topic) => ({ topic, order })));
      bytes += measureRecords(selected);
      read += topics.length;
      const last = topics.at(-1);
      lastRead = last && { topic: last, order };
      after = last && toSortKey(last, order);
      hasMore = topics.length === wanted;
    }
    if (isFull() || isLong()) break;
    after = undefined;
  }
  const shown = found.slice(0, limit);
  const last = isFull() ? shown.at(-1) : isLong() ? lastRead : undefined;
  return {
    topics: shown.map(({ topic }) => topic),
    next: last && encodeTopicCursor(last.topic, last.order),
  };
}

interface OrderedTopic {
  readonly topic: ListedTopic;
  readonly order: TopicOrder;
}

/** Returns the list that a cursor belongs to and the sort key to continue after. */
async function resolveCursor(
  reader: TopicReader,
  lists: readonly SortedQuery[],
  cursor: string,
): Promise<{ first: number; after: TopicSortKey }> {
  for (const [first, { order }] of lists.entries()) {
    const { byKey, byId } = createFormats(order);
    const key = byKey.tryDecode(cursor);
    if (key !== undefined) return { first, after: key };
    const [id] = byId.tryDecode(cursor) ?? [];
    if (id === undefined) continue;
    const found = await reader.find(id);
    if (found?.topic.id === id) return { first, after: toSortKey(found, order) };
    throw createCursorError("refers to a topic that no longer exists; start again from the first page");
  }
  throw createCursorError("is not a cursor of this list");
}

interface SortedQuery {
  readonly query: TopicQuery;
  readonly order: TopicOrder;
}

/** The lists that a page consists of, in order. */
function toSortedQueries({ order, search, ...query }: Omit<TopicPageQuery, "select">): SortedQuery[] {
  const byId: TopicOrder = { sort: "externalId", descending: false };
  if (query.state !== "active")
    return [{ query: { ...query, externalIdPrefix: search }, order: { sort: "retired", descending: true } }];
  if (search === undefined) return [{ query, order: order ?? byId }];
  return [
    { query: { ...query, externalIdPrefix: search }, order: byId },
    {
      query: { ...query, namePrefix: search, exceptExternalIdPrefix: search },
      order: { sort: "name", descending: false },
    },
  ];
}

/** A URL of at most 2,048 characters has to hold the cursor, a search and the rest. */
const maxCursorLength = 1_000;

/** The cursor after a topic: its sort key, or its sys_id where the key is too long. */
export function encodeTopicCursor(topic: ListedTopic, order: TopicOrder): string {
  const { byKey, byId } = createFormats(order);
  const cursor = byKey.encode(toSortKey(topic, order));
  return cursor.length <= maxCursorLength ? cursor : byId.encode([topic.topic.id]);
}

const sortKeyKinds = {
  externalId: ["string"],
  name: ["string", "string", "string", "string"],
  changed: ["date", "string"],
  retired: ["date", "string"],
} as const;

function createFormats({ sort, descending }: TopicOrder): {
  byKey: CursorFormat<TopicSortKey>;
  byId: CursorFormat<readonly [string]>;
} {
  const list = `topics:${descending ? "-" : ""}${sort}`;
  return {
    byKey: createCursorFormat(list, sortKeyKinds[sort]),
    byId: createCursorFormat(`${list}:id`, ["string"]),
  };
}

function toSortKey({ topic, retired }: ListedTopic, { sort }: TopicOrder): TopicSortKey {
  const { externalId, name, namespace, headerQuery, contentQuery, updatedOn, id } = topic;
  if (sort === "externalId") return [externalId];
  if (sort === "name") return [name, namespace, headerQuery, contentQuery];
  return [sort === "retired" && retired !== undefined ? retired.retiredOn : updatedOn, id];
}
