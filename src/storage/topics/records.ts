import type { Collection, Filter, FindOptions } from "mongodb";

import { formatRecordPosition } from "@topicsync/kafka";
import type { IndexedTopic, PickableTopic, TopicChange } from "../../topics/live/feed.ts";
import type { Database } from "../database/database.ts";
import { findByValues } from "../queries.ts";
import type { StoredDefinition } from "../../topics/stores.ts";
import type { PreviousTopic, RetiredTopic, Source, Topic, TopicDefinition } from "../../topics/topic.ts";

/** A record of the Topic table (specification 2.4). */
export interface TopicRecord {
  _id: string;
  topic_name: string;
  topic_id: string;
  header_query: string;
  content_query: string;
  namespace: string;
  user_created: false;
  type: "egress";
  source: Source;
  sys_created_on: Date;
  sys_updated_on: Date;
  /** Absent in version 1. */
  version?: number;
  previous?: PreviousRecord;
  /** The last external ids that it had before. */
  former_ids?: readonly string[];
}

/** The definition of a topic before its last change. */
type PreviousRecord = Pick<
  TopicRecord,
  "topic_name" | "namespace" | "header_query" | "content_query" | "source" | "sys_updated_on"
>;

export interface RetiredRecord extends Omit<TopicRecord, "_id"> {
  /** See toRetiredId. */
  _id: string;
  sys_id: string;
  /** Unlike that of active topics also present in version 1, since retirements are sorted by it. */
  version: number;
  retired_on: Date;
  retired_by: RetiredTopic["retiredBy"];
  /** When the topic was enabled again; a filter for null matches an absent field. */
  enabled_on?: Date | null;
  /** When MongoDB deletes it; absent: never, as for the last retirement of a topic that is not active. */
  expires_on?: Date;
}

/**
 * The `_id` of a retired record: `topic-partition-offset` of the tombstone, or the version of the topic that
 * a user disabled. A repeated write therefore retires nothing twice.
 */
export function toRetiredId({ topic: { id, updatedOn }, retiredBy }: RetiredTopic): string {
  if (retiredBy.kind === "http") return `${id}-${updatedOn.getTime()}`;
  return formatRecordPosition(retiredBy);
}

/** Converts to a record without its `_id`; see toRetiredId. */
export function toRetiredRecord(one: RetiredTopic): Omit<RetiredRecord, "_id"> {
  const { _id, ...fields } = toTopicRecord(one.topic);
  const { version } = one.topic;
  return { ...fields, sys_id: _id, version, retired_on: one.retiredOn, retired_by: one.retiredBy };
}

/** In this order, which `readIndexed` expects. */
export const toDefinitionFields = (topic: TopicDefinition) => ({
  topic_name: topic.name,
  topic_id: topic.externalId,
  header_query: topic.headerQuery,
  content_query: topic.contentQuery,
  namespace: topic.namespace,
});

export function toTopicRecord(topic: Topic): TopicRecord {
  return {
    _id: topic.id,
    ...toDefinitionFields(topic),
    user_created: false,
    type: "egress",
    source: topic.source,
    sys_created_on: topic.createdOn,
    sys_updated_on: topic.updatedOn,
    ...(topic.version > 1 && { version: topic.version }),
    ...(topic.previous && { previous: toPreviousRecord(topic.previous) }),
    ...(topic.formerIds && { former_ids: topic.formerIds }),
  };
}

const toPreviousRecord = (previous: PreviousTopic): PreviousRecord => ({
  topic_name: previous.name,
  namespace: previous.namespace,
  header_query: previous.headerQuery,
  content_query: previous.contentQuery,
  source: previous.source,
  sys_updated_on: previous.updatedOn,
});

/** The fields of a record that picking needs, as a projection. */
export const pickedFields = {
  topic_id: 1,
  topic_name: 1,
  namespace: 1,
  header_query: 1,
  content_query: 1,
} as const;

/** The fields that an index of topics needs, as a projection. */
export const indexedFields = {
  _id: 0,
  topic_id: 1,
  namespace: 1,
  header_query: 1,
  content_query: 1,
} as const;

export const toIndexed = (
  record: Pick<TopicRecord, "topic_id" | "namespace" | "header_query" | "content_query">,
): IndexedTopic => ({
  externalId: record.topic_id,
  namespace: record.namespace,
  headerQuery: record.header_query,
  contentQuery: record.content_query,
});

const toDefinition = (record: Pick<TopicRecord, keyof typeof pickedFields>): TopicDefinition => ({
  externalId: record.topic_id,
  name: record.topic_name,
  namespace: record.namespace,
  headerQuery: record.header_query,
  contentQuery: record.content_query,
});

export const toPickable = (record: Pick<TopicRecord, "_id" | keyof typeof pickedFields>): PickableTopic => ({
  ...toDefinition(record),
  id: record._id,
});

/** The fields of a record that `toStoredDefinition` needs, as a projection. */
export const definitionFields = { ...pickedFields, _id: 0, "source.kind": 1 } as const;

export const toStoredDefinition = (record: TopicRecord): StoredDefinition => ({
  ...toDefinition(record),
  sourceKind: record.source.kind,
});

export const fromRetiredRecord = ({
  sys_id,
  retired_on,
  retired_by,
  ...record
}: RetiredRecord): RetiredTopic => ({
  topic: fromTopicRecord({ ...record, _id: sys_id }),
  retiredOn: retired_on,
  retiredBy: retired_by,
});

export const fromTopicRecord = (record: TopicRecord): Topic => ({
  ...toPickable(record),
  source: record.source,
  createdOn: record.sys_created_on,
  updatedOn: record.sys_updated_on,
  version: record.version ?? 1,
  ...(record.previous && { previous: fromPreviousRecord(record.previous) }),
  ...(record.former_ids && { formerIds: record.former_ids }),
});

const fromPreviousRecord = (record: PreviousRecord): PreviousTopic => ({
  name: record.topic_name,
  namespace: record.namespace,
  headerQuery: record.header_query,
  contentQuery: record.content_query,
  source: record.source,
  updatedOn: record.sys_updated_on,
});

/** The external ids under which a topic is not to be found any more. */
export const toRenames = ({ former_ids = [] }: Pick<TopicRecord, "former_ids">): TopicChange[] =>
  former_ids.map((externalId) => ({ externalId, updatedOn: undefined }));

/** Finds a topic if it has the version that was read. A filter for null also matches an absent field. */
export const toVersionFilter = ({ id, version }: Topic): Filter<TopicRecord> =>
  ({ _id: id, version: version === 1 ? { $in: [1, null] } : version }) as Filter<TopicRecord>;

/** The same, also if the numbers repeat: a backup was restored, or an older program has changed the topic. */
export const toExactFilter = (topic: Topic): Filter<TopicRecord> => ({
  ...toVersionFilter(topic),
  ...toDefinitionFields(topic),
});

/** The records of these external ids. Throws UnavailableError. */
export const findByExternalIds = (
  { database, topics }: { readonly database: Database; readonly topics: Collection<TopicRecord> },
  externalIds: readonly string[],
  options?: FindOptions,
): Promise<TopicRecord[]> => findByValues(database, topics, ["topic_id", externalIds], options);
