import type { Collection, Filter } from "mongodb";

import { compareTexts } from "@topicsync/filters";
import {
  toVersionSortKey,
  type TopicHistory,
  type TopicVersion,
  type VersionSortKey,
} from "../../topics/history.ts";
import type { ListedTopic, Topic } from "../../topics/topic.ts";
import { includesNamespace } from "../../users/rights.ts";
import { maxListMs } from "../database/client-options.ts";
import type { Database } from "../database/database.ts";
import { compareDescending, findPage, toNamespaceFilter } from "../queries.ts";
import { createDescriptions } from "./descriptions.ts";
import { fromRetiredRecord, fromTopicRecord, type RetiredRecord } from "./records.ts";
import { createTopicReader, toTopicFilter } from "./reader.ts";
import { fromVersionRecord, toVersionId, type VersionRecord } from "./versions.ts";
import { openTopicCollections } from "./writes.ts";

/**
 * Reads the history: the current version is among the topics, the last one of a retired topic among the
 * retired ones, and all others among the versions.
 */
export function createTopicHistory(database: Database): TopicHistory {
  const { topics, retired, versions } = openTopicCollections(database, undefined);
  const reader = createTopicReader(database);
  const descriptions = createDescriptions(database);

  /** The current version of an external id, and where its other versions are. */
  async function findCurrent(externalId: string) {
    const named = await reader.find(externalId);
    return {
      active: named?.retired === undefined ? named?.topic : undefined,
      filter: toHistoryFilter(externalId, named),
    };
  }

  return {
    async readVersions(externalId, { namespaces, after, limit }) {
      const { active, filter } = await findCurrent(externalId);
      const among = toNamespaceFilter(namespaces) ?? {};
      const page = { descending: true, after, limit };
      const [ended, replaced] = await database.list(() =>
        Promise.all([
          findPage(retired, {
            ...{ ...page, filter: { $and: [filter, among as Filter<RetiredRecord>] } },
            sort: ["retired_on", "version", "sys_id"],
          }),
          findPage(versions, {
            ...{ ...page, filter: { $and: [filter, among as Filter<VersionRecord>] } },
            sort: ["valid_to", "version", "sys_id"],
          }),
        ]),
      );
      const current = active === undefined ? [] : [toCurrent(active)];
      const past = [...ended.records.map(toEnded), ...replaced.records.map(fromVersionRecord)];
      return [...current, ...past.filter((one) => !isCurrent(one, active))]
        .filter((one) => isAfter(one, after) && includesNamespace(namespaces, one.topic.namespace))
        .toSorted(compareVersions)
        .slice(0, limit);
    },

    async readDescriptions(externalId, from) {
      const { filter } = await findCurrent(externalId);
      return descriptions.read(externalId, filter, from);
    },

    findDetailsAt: (externalIds, at) => descriptions.findAt(externalIds, at),

    async findVersion(externalId, version) {
      const found = await reader.find(externalId);
      if (found === undefined) return undefined;
      const { id } = found.topic;
      if (found.topic.version === version && found.retired === undefined) return toCurrent(found.topic);
      const filter = toHistoryFilter(externalId, found);
      const [replaced, ended] = await database.run(() =>
        Promise.all([
          versions.findOne({ _id: toVersionId(id, version) }),
          retired.findOne({ $and: [filter, { sys_id: id, version }] }),
        ]),
      );
      if (ended !== null) return toEnded(ended);
      return replaced === null ? undefined : fromVersionRecord(replaced);
    },

    async findAt(externalId, at) {
      const { active, filter } = await findCurrent(externalId);
      if (active !== undefined && active.updatedOn <= at) return toCurrent(active);
      const [replaced, ended] = await database.run(() =>
        Promise.all([
          versions.findOne(
            { $and: [filter, toTimeFilter(at)] },
            {
              sort: { valid_to: 1 },
            },
          ),
          retired.findOne({ $and: [filter, toRetiredTimeFilter(at)] }, { sort: { retired_on: 1 } }),
        ]),
      );
      if (replaced !== null) return fromVersionRecord(replaced);
      return ended === null ? undefined : toEnded(ended);
    },

    async readAt(at, query, { after, limit }) {
      /** Beyond the last external id of a full list, the list is not known, and the others are not needed. */
      let end: string | undefined;
      async function read<R extends { topic_id: string }>(from: Collection<R>, when: Filter<R>) {
        const bounds = {
          ...(after !== undefined && { $gt: after }),
          ...(end !== undefined && { $lte: end }),
        };
        const range = Object.keys(bounds).length === 0 ? {} : { topic_id: bounds };
        const filter = { $and: [range, toTopicFilter(query), when] } as Filter<R>;
        const options = { sort: { topic_id: 1 }, limit, batchSize: limit + 1, maxTimeMS: maxListMs } as const;
        const found = (await database.list(() => from.find(filter, options).toArray())) as R[];
        if (found.length === limit) end = found.at(-1)?.topic_id;
        return found;
      }
      // Topics first: one that is changed in between is then found among the versions.
      const active = await read(topics, { sys_updated_on: { $lte: at } });
      const replaced = await read(versions, toTimeFilter(at));
      const ended = await read(retired, toRetiredTimeFilter(at));
      const all = [
        ...active.map((record) => toCurrent(fromTopicRecord(record))),
        ...replaced.map(fromVersionRecord),
        ...ended.map(toEnded),
      ].filter(({ topic }) => end === undefined || compareTexts(topic.externalId, end) <= 0);
      return { versions: keepFirst(all), next: end };
    },
  };
}

/** Also finds the versions of a topic from before it was renamed. */
function toHistoryFilter(externalId: string, found: ListedTopic | undefined) {
  const own = { topic_id: externalId };
  const { id, formerIds = [] } = found?.topic ?? {};
  if (id === undefined || formerIds.length === 0) return own;
  return { $or: [own, { topic_id: { $in: [...formerIds] }, sys_id: id }] };
}

/** The retirements that ended a version that was in force at a time. */
const toRetiredTimeFilter = (at: Date): Filter<RetiredRecord> => ({
  sys_updated_on: { $lte: at },
  retired_on: { $gt: at },
});

/** The versions that were in force at a time. Those that were never visible have no length. */
const toTimeFilter = (at: Date): Filter<VersionRecord> => ({
  valid_from: { $lte: at },
  valid_to: { $gt: at },
});

const toCurrent = (topic: Topic): TopicVersion => ({ topic, ended: undefined, isTransient: false });

function toEnded(record: RetiredRecord): TopicVersion {
  const { topic, retiredOn, retiredBy } = fromRetiredRecord(record);
  const as = retiredBy.kind === "http" ? "disabled" : "retired";
  return { topic, ended: { on: retiredOn, by: retiredBy, as }, isTransient: topic.updatedOn >= retiredOn };
}

/** Without transactions, a version may have been stored although the topic was not changed. */
const isCurrent = ({ topic }: TopicVersion, active: Topic | undefined): boolean =>
  topic.id === active?.id && topic.version >= active.version;

/** The latest first. */
const compareVersions = (a: TopicVersion, b: TopicVersion): number =>
  compareDescending(toVersionSortKey(a), toVersionSortKey(b));

const isAfter = (one: TopicVersion, after: VersionSortKey | undefined): boolean =>
  after === undefined || compareDescending(after, toVersionSortKey(one)) < 0;

/** One version of each external id, the first one given, sorted. */
function keepFirst(versions: readonly TopicVersion[]): TopicVersion[] {
  const byId = new Map(versions.toReversed().map((one) => [one.topic.externalId, one]));
  return [...byId.values()].toSorted((a, b) => compareTexts(a.topic.externalId, b.topic.externalId));
}
