import type { ReplacedVersion, Source, VersionAction } from "../topics/topic.ts";
import type { TopicRecord } from "./topic-records.ts";

/** A version of a topic that another one has replaced. */
export interface VersionRecord extends Pick<
  TopicRecord,
  "topic_id" | "topic_name" | "namespace" | "header_query" | "content_query" | "source"
> {
  /** The sys_id and the version. */
  _id: { id: string; v: number };
  valid_from: Date;
  valid_to: Date;
  ended_by: Source;
  action: VersionAction;
  /** It was never visible. */
  is_transient?: true;
  /** When MongoDB deletes it; absent: never. */
  expires_on?: Date;
}

const msPerDay = 24 * 60 * 60 * 1_000;

export const toVersionId = (id: string, v: number): VersionRecord["_id"] => ({ id, v });

/** Converts to a record. It is kept for ever unless a number of days is given. */
export const toVersionRecord = (
  { topic, endedBy, endedOn, action, isTransient }: ReplacedVersion,
  retentionDays: number | undefined,
): VersionRecord => ({
  _id: toVersionId(topic.id, topic.version),
  topic_id: topic.externalId,
  topic_name: topic.name,
  namespace: topic.namespace,
  header_query: topic.headerQuery,
  content_query: topic.contentQuery,
  source: topic.source,
  valid_from: topic.updatedOn,
  valid_to: endedOn,
  ended_by: endedBy,
  action,
  ...(isTransient && { is_transient: true }),
  ...(retentionDays !== undefined && {
    expires_on: new Date(endedOn.getTime() + retentionDays * msPerDay),
  }),
});
