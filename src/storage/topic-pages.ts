import { orderOf, type TopicOrder } from "../topics/list-cursor.ts";
import type { TopicQuery, TopicReader, TopicStretch } from "../topics/listing.ts";
import type { RetiredTopic, ListedTopic, TopicCondition } from "../topics/topic.ts";
import type { Database } from "./database.ts";
import { placeIn, walkIndex, type IndexOrder, type Walk } from "./index-walk.ts";
import { findByExternalIds } from "./look-up.ts";
import { collections } from "./names.ts";
import { createRetiredTopicStore } from "./retired-topics.ts";
import { createSignposts, signpostIds } from "./signposts.ts";
import { fromTopicRecord, retiredId, type RetiredRecord, type TopicRecord } from "./topic-records.ts";

type From = Parameters<TopicReader["read"]>[1];

/** Reads topics in MongoDB, by an index in every order. */
export function createTopicReader(database: Database): TopicReader {
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);
  const walkedStored = {
    collection: topics,
    // SecantusDB takes the partial index only where its own member is asked for as well.
    signposts: createSignposts(
      topics,
      { topic_id: { $gte: "" }, _id: signpostIds },
      { topic_id: 1, topic_name: 1, sys_updated_on: 1 },
    ),
  };
  const walkedRetired = {
    collection: retired,
    signposts: createSignposts(retired, { sys_id: signpostIds }, { topic_id: 1, retired_on: 1 }),
  };
  const retiredStore = createRetiredTopicStore(database);

  async function readStored(query: TopicQuery, from: From): Promise<TopicStretch> {
    const walked = await database.run(() => walkIndex(walkedStored, walkOf(query, from)));
    // Those whose external id begins like this as well came before.
    const isSecond = query.search !== undefined && from.way === "name";
    const shown = isSecond
      ? walked.records.filter(({ topic_id }) => !topic_id.startsWith(query.search ?? ""))
      : walked.records;
    return { topics: shown.map((record) => ({ topic: fromTopicRecord(record) })), last: walked.last };
  }

  async function readRetired(query: TopicQuery, from: From): Promise<TopicStretch> {
    const kind = query.state === "disabled" ? "http" : "announcement";
    const walk = walkOf(query, from);
    const meant = { "retired_by.kind": kind, ...walk.meant };
    const walked = await database.run(() => walkIndex(walkedRetired, { ...walk, meant }));
    const ids = [...new Set(walked.records.map(({ topic_id }) => topic_id))];
    // The active ones first, as whereaboutsOf has it.
    const active = await findByExternalIds({ database, topics }, ids, { projection: { topic_id: 1 } });
    const last = ids.length === 0 ? [] : await retiredStore.lastOf(ids);
    // A topic can have been retired again and again: only the last time says what became of it.
    const gone = new Map(last.map((one) => [retiredId(one), one]));
    const isBack = new Set(active.map(({ topic_id }) => topic_id));
    const shown = walked.records.flatMap(({ _id, topic_id }) => {
      const one = gone.get(_id);
      return one === undefined || isBack.has(topic_id) ? [] : shownOf(one);
    });
    return { topics: shown, last: walked.last };
  }

  return {
    read: (query, from) => (query.state === "stored" ? readStored(query, from) : readRetired(query, from)),

    async placeOf({ state }, way, id) {
      const record = await database.run(() =>
        state === "stored" ? topics.findOne({ _id: id }) : retired.findOne({ _id: id }),
      );
      return record === null ? undefined : placeIn(record, orderIn(state, orderOf(way).order).members);
    },

    async find(id) {
      const [[stored], bySysId] = await Promise.all([
        findByExternalIds({ database, topics }, [id]),
        database.run(() => topics.findOne({ _id: id })),
      ]);
      if (stored !== undefined) return { topic: fromTopicRecord(stored) };
      const [last] = await retiredStore.lastOf([id]);
      if (last !== undefined) return shownOf(last);
      return bySysId === null ? undefined : { topic: fromTopicRecord(bySysId) };
    },
  };
}

const shownOf = ({ topic, ...retired }: RetiredTopic): ListedTopic => ({ topic, retired });

type Orders = Partial<Record<TopicOrder, IndexOrder>> & { readonly externalId: IndexOrder };

/** The orders that indexes have. */
const orders: Readonly<Record<"stored" | "retired", Orders>> = {
  stored: {
    externalId: { members: ["topic_id"], telling: ["topic_id"], least: "" },
    name: {
      members: ["topic_name", "namespace", "header_query", "content_query"],
      telling: ["topic_name"],
      least: "",
    },
    changed: {
      members: ["sys_updated_on", "topic_id"],
      // Those of a batch change at the same time.
      telling: ["sys_updated_on", "topic_id"],
      least: new Date(0),
    },
  },
  retired: {
    externalId: { members: ["topic_id", "_id"], telling: ["topic_id"], least: "" },
    retired: { members: ["retired_on", "_id"], telling: ["retired_on", "_id"], least: new Date(0) },
  },
};

function orderIn(state: TopicCondition, order: TopicOrder): IndexOrder {
  const known = orders[state === "stored" ? "stored" : "retired"];
  return known[order] ?? known.externalId;
}

function walkOf({ state, search, namespace, source }: TopicQuery, { way, behind, limit }: From): Walk {
  const { order, descending } = orderOf(way);
  return {
    order: orderIn(state, order),
    ...{ descending, behind, limit },
    // A range, since not every store finds anything by a regular expression on an indexed field.
    bounds: search === undefined ? {} : { $gte: search, $lt: `${search}\u{10FFFF}` },
    meant: {
      ...(namespace === undefined ? {} : { namespace }),
      ...(source === undefined ? {} : { "source.kind": source }),
    },
  };
}
