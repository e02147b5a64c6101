import type { Collection, Filter } from "mongodb";

import { isSysId } from "@topicsync/lib/sys-id";
import type { TopicOrder, TopicQuery, TopicReader, TopicSort, TopicSortKey } from "../../topics/listing.ts";
import type { ListedTopic, RetiredTopic } from "../../topics/topic.ts";
import { parseRange } from "../../users/rights.ts";
import type { Database } from "../database/database.ts";
import { collections } from "../names.ts";
import { findPage, matchAll, toNamespaceFilter, toPrefixRange, type SortValue } from "../queries.ts";
import { findLatestRetired } from "./topics.ts";
import {
  findByExternalIds,
  fromTopicRecord,
  toRetiredId,
  type RetiredRecord,
  type TopicRecord,
} from "./records.ts";

export function createTopicReader(database: Database): TopicReader {
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);
  const sources: Sources = { database, topics, retired };

  return {
    async readSorted(query, { order, after, limit }) {
      if (query.state === "active") {
        const sort = sortFields[order.sort];
        const { descending } = order;
        const { records } = await database.list(() =>
          findPage(topics, { filter: toTopicFilter(query), sort, descending, after, limit }),
        );
        return records.map((record) => ({ topic: fromTopicRecord(record) }));
      }
      const found: ListedTopic[] = [];
      for await (const one of streamRetired(sources, query, { order, after, limit })) {
        found.push(one);
        if (found.length === limit) break;
      }
      return found;
    },

    find: (externalId) => findNamed(sources, externalId),

    async findByAnyId(id) {
      if (!isSysId(id)) return findNamed(sources, id);
      const active = await database.run(() => topics.findOne({ _id: id }));
      if (active !== null) return { topic: fromTopicRecord(active) };
      return toListed(await findDisabled(sources, id)) ?? (await findNamed(sources, id));
    },
  };
}

async function findNamed(
  { database, topics }: Sources,
  externalId: string,
): Promise<ListedTopic | undefined> {
  const [active] = await findByExternalIds({ database, topics }, [externalId]);
  if (active !== undefined) return { topic: fromTopicRecord(active) };
  return toListed((await findLatestRetired(database, [externalId]))[0]);
}

function toListed(found: RetiredTopic | undefined): ListedTopic | undefined {
  if (found === undefined) return undefined;
  const { topic, ...retired } = found;
  return { topic, retired };
}

/** Where topics are read. */
interface Sources {
  readonly database: Database;
  readonly topics: Collection<TopicRecord>;
  readonly retired: Collection<RetiredRecord>;
}

/** Finds a topic that is disabled by its sys_id: the `_id` of its retirement begins with it. */
async function findDisabled({ database, retired }: Sources, id: string): Promise<RetiredTopic | undefined> {
  const [record] = await database.run(() =>
    retired.find({ _id: toPrefixRange(`${id}-`) }, { sort: { _id: -1 }, limit: 1 }).toArray(),
  );
  const [last] = record === undefined ? [] : await findLatestRetired(database, [record.topic_id]);
  return last?.topic.id === id ? last : undefined;
}

/** Drops the topics that are active again, and all but the last retirement of those that are not. */
async function keepCurrent(
  { database, topics }: Sources,
  records: readonly RetiredRecord[],
): Promise<ListedTopic[]> {
  const ids = [...new Set(records.map(({ topic_id }) => topic_id))];
  if (ids.length === 0) return [];
  // Active topics first: one that is retired in between is found by the second query.
  const active = await findByExternalIds({ database, topics }, ids, { projection: { topic_id: 1 } });
  const activeIds = new Set(active.map(({ topic_id }) => topic_id));
  const last = new Map((await findLatestRetired(database, ids)).map((one) => [toRetiredId(one), one]));
  return records.flatMap(({ _id, topic_id }) => {
    const one = last.get(_id);
    return activeIds.has(topic_id) ? [] : (toListed(one) ?? []);
  });
}

async function* streamRetired(
  sources: Sources,
  query: TopicQuery,
  { order, after, limit }: { order: TopicOrder; after: TopicSortKey | undefined; limit: number },
): AsyncGenerator<ListedTopic> {
  const filter = {
    "retired_by.kind": query.state === "disabled" ? "http" : "announcement",
    ...(toTopicFilter(query) as Filter<RetiredRecord>),
  };
  const { descending } = order;
  let next: readonly SortValue[] | undefined = after;
  do {
    const page = await sources.database.list(() =>
      findPage(sources.retired, { filter, sort: sortFields[order.sort], descending, after: next, limit }),
    );
    yield* await keepCurrent(sources, page.records);
    ({ next } = page);
  } while (next !== undefined);
}

/** The fields of the sort keys in listing.ts; every order but `changed` follows an index. */
const sortFields: Readonly<Record<TopicSort, readonly string[]>> = {
  externalId: ["topic_id"],
  name: ["topic_name", "namespace", "header_query", "content_query"],
  changed: ["sys_updated_on", "_id"],
  retired: ["retired_on", "sys_id"],
  details: ["topic_id"],
};

/** The conditions that active and retired topics have in common. */
export function toTopicFilter(query: Omit<TopicQuery, "state">): Filter<TopicRecord> {
  const { externalIds, externalIdPrefix, exceptExternalIdPrefix, name, namePrefix, namespace, source } =
    query;
  const namespaces = toNamespaceFilter(query.namespaces);
  const conditions: Filter<TopicRecord>[] = [];
  if (externalIds !== undefined) conditions.push({ topic_id: { $in: [...externalIds] } });
  if (externalIdPrefix !== undefined) conditions.push({ topic_id: toPrefixRange(externalIdPrefix) });
  if (exceptExternalIdPrefix !== undefined)
    conditions.push({ topic_id: { $not: toPrefixRange(exceptExternalIdPrefix) } });
  if (name !== undefined) conditions.push({ topic_name: name });
  if (namePrefix !== undefined) conditions.push({ topic_name: toPrefixRange(namePrefix) });
  const asked = namespace === undefined ? undefined : toNamespaceFilter([parseRange(namespace)]);
  for (const among of [asked, namespaces]) if (among !== undefined) conditions.push(among);
  if (source !== undefined) conditions.push({ "source.kind": source });
  return matchAll(conditions);
}
