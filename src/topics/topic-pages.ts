import { createCursorFormat, createCursorError, type CursorFormat } from "@topicsync/lib/cursor";
import { getNextRead, maxPageBytes, measureRecords, recordsPerRead } from "@topicsync/lib/page-bytes";
import { dropFound, findBySearch, type TopicSources } from "./details/search.ts";
import type { DetailsQuery } from "./details/store.ts";
import type { TopicOrder, TopicQuery, TopicReader, TopicSortKey } from "./listing.ts";
import type { ListedTopic } from "./topic.ts";

/** Which topics a page shows. */
export interface TopicPageQuery extends Omit<TopicQuery, "externalIdPrefix" | "exceptExternalIdPrefix"> {
  /** Of active topics without a search; by external id unless given. */
  readonly order?: TopicOrder | undefined;
  /** Topics whose details match. With `search` they come first. */
  readonly details?: Omit<DetailsQuery, "namespaces"> | undefined;
  /** Topics whose external id begins with this text, followed by active ones whose name does. */
  readonly search?: string | undefined;
  /** Keeps some of the topics that were read. */
  readonly select?: ((topics: readonly ListedTopic[]) => Promise<ListedTopic[]>) | undefined;
}

/** A page ends early, and may be empty, when this many topics were read that an earlier list has. */
const maxRepeated = 1_000;
/** The same for topics that `select` has dropped. */
const maxUnselected = 10_000;

/** A topic, and the order of the list that it was found in. */
interface ListedAt {
  readonly topic: ListedTopic;
  readonly order: TopicOrder;
}

interface TopicPage {
  readonly topics: readonly ListedTopic[];
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/**
 * Returns at most `limit` topics after a cursor, and fewer if they are large or many are dropped. Throws a
 * RejectionError for a bad cursor, and UnavailableError.
 */
export async function readTopicPage(
  sources: TopicSources,
  { select, ...pageQuery }: TopicPageQuery,
  { after: cursor, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<TopicPage> {
  const lists = toLists(sources, pageQuery);
  const start = cursor === undefined ? undefined : await resolveCursor(sources, lists, cursor);
  let after = start?.after;
  const found: ListedAt[] = [];
  /** The last topic that was read. */
  let last: ListedAt | undefined;
  let bytes = 0;
  let dropped = 0;
  const maxDropped = select === undefined ? maxRepeated : maxUnselected;
  const isFull = (): boolean => found.length > limit || bytes >= maxPageBytes || dropped >= maxDropped;
  for (const { read, dropRepeated, order } of lists.slice(start?.first)) {
    for (let hasMore = true; hasMore && !isFull();) {
      // Fetch one extra row to know whether there is a next page.
      const drops = dropRepeated !== undefined || select !== undefined;
      const wanted = drops
        ? recordsPerRead
        : Math.min(limit + 1 - found.length, getNextRead(found.length, bytes));
      const topics = await read(after, wanted);
      const others = (await dropRepeated?.(topics)) ?? topics;
      const kept = (await select?.(others)) ?? others;
      found.push(...kept.map((topic) => ({ topic, order })));
      bytes += measureRecords(kept);
      dropped += topics.length - kept.length;
      const topic = topics.at(-1);
      if (topic !== undefined) last = { topic, order };
      after = topic && toSortKey(topic, order);
      hasMore = topics.length === wanted;
    }
    if (isFull()) break;
    after = undefined;
  }
  const shown = found.slice(0, limit);
  const end = found.length > limit ? shown.at(-1) : isFull() ? last : undefined;
  return {
    topics: shown.map(({ topic }) => topic),
    next: end && encodeTopicCursor(end.topic, end.order),
  };
}

/** Returns the list that a cursor belongs to and the sort key to continue after. */
async function resolveCursor(
  { topicReader }: TopicSources,
  lists: readonly List[],
  cursor: string,
): Promise<{ first: number; after: TopicSortKey }> {
  for (const [first, { order }] of lists.entries()) {
    const { byKey, byId } = createFormats(order);
    const key = byKey.tryDecode(cursor);
    if (key !== undefined) return { first, after: key };
    const [id] = byId.tryDecode(cursor) ?? [];
    if (id === undefined) continue;
    const found = await topicReader.findByAnyId(id);
    if (found?.topic.id === id) return { first, after: toSortKey(found, order) };
    throw createCursorError("refers to a topic that no longer exists; start again from the first page");
  }
  throw createCursorError("is not a cursor of this list");
}

/** One of the lists that a page consists of. */
interface List {
  readonly order: TopicOrder;
  /** Returns at most `limit` topics after a sort key. */
  readonly read: (after: TopicSortKey | undefined, limit: number) => Promise<ListedTopic[]>;
  /** Drops what a list before this one has. */
  readonly dropRepeated?: ((topics: readonly ListedTopic[]) => Promise<ListedTopic[]>) | undefined;
}

/** The lists that a page consists of, in order. */
function toLists({ topicReader, topicDetails }: TopicSources, pageQuery: TopicPageQuery): List[] {
  const { details, search: text, ...query } = pageQuery;
  if (details === undefined) return toSortedLists(topicReader, pageQuery);
  const detailsQuery = { ...details, namespaces: query.namespaces };
  const search = topicDetails.search(detailsQuery);
  const byDetails: List = {
    order: { sort: "details", descending: false },
    read: ([after] = [], limit) =>
      findBySearch(topicReader, { search, query }, { after: after?.toString(), limit }),
  };
  const byPrefix = text === undefined ? [] : toSortedLists(topicReader, pageQuery);
  const dropRepeated: List["dropRepeated"] = (topics) => dropFound(topicDetails, topics, detailsQuery);
  return [byDetails, ...byPrefix.map((list) => ({ ...list, dropRepeated }))];
}

function toSortedLists(reader: TopicReader, { order, search, ...query }: TopicPageQuery): List[] {
  const toList = (sorted: TopicQuery, by: TopicOrder): List => ({
    order: by,
    read: (after, limit) => reader.readSorted(sorted, { order: by, after, limit }),
  });
  const byId: TopicOrder = { sort: "externalId", descending: false };
  const beginning = { ...query, externalIdPrefix: search };
  if (query.state !== "active") return [toList(beginning, { sort: "retired", descending: true })];
  if (search === undefined) return [toList(query, order ?? byId)];
  const named = { ...query, namePrefix: search, exceptExternalIdPrefix: search };
  return [toList(beginning, byId), toList(named, { sort: "name", descending: false })];
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
  details: ["string"],
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
  if (sort === "externalId" || sort === "details") return [externalId];
  if (sort === "name") return [name, namespace, headerQuery, contentQuery];
  return [sort === "retired" && retired !== undefined ? retired.retiredOn : updatedOn, id];
}
