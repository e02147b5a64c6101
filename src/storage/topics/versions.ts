import type { TopicVersion } from "../../topics/history.ts";
import type { ReplacedVersion, Source, VersionAction } from "../../topics/topic.ts";
import { fromTopicRecord, toDefinitionFields, type TopicRecord } from "./records.ts";

/** A version of a topic that another one has replaced. */
export interface VersionRecord extends Pick<
  TopicRecord,
  "topic_id" | "topic_name" | "namespace" | "header_query" | "content_query" | "source" | "sys_created_on"
> {
  /** See toVersionId. */
  _id: string;
  sys_id: string;
  version: number;
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

/** When MongoDB deletes what ended at a time: never unless a number of days is given. */
export const toExpiry = (
  endedOn: Date,
  retentionDays: number | undefined,
): Pick<VersionRecord, "expires_on"> =>
  retentionDays === undefined ? {} : { expires_on: new Date(endedOn.getTime() + retentionDays * msPerDay) };

/** The `_id` of a version. A text, since not every product finds documents by an `_id` that is one. */
export const toVersionId = (id: string, version: number): string => `${id}-${version}`;

/** Converts to a record. It is kept for ever unless a number of days is given. */
export const toVersionRecord = (
  { topic, endedBy, endedOn, action, isTransient }: ReplacedVersion,
  retentionDays: number | undefined,
): VersionRecord => ({
  _id: toVersionId(topic.id, topic.version),
  sys_id: topic.id,
  version: topic.version,
  ...toDefinitionFields(topic),
  source: topic.source,
  sys_created_on: topic.createdOn,
  valid_from: topic.updatedOn,
  valid_to: endedOn,
  ended_by: endedBy,
  action,
  ...(isTransient && { is_transient: true }),
  ...toExpiry(endedOn, retentionDays),
});

export const fromVersionRecord = ({
  sys_id,
  valid_from,
  valid_to,
  ended_by,
  action,
  is_transient,
  ...record
}: VersionRecord): TopicVersion => ({
  topic: fromTopicRecord({
    ...{ ...record, _id: sys_id, sys_updated_on: valid_from },
    user_created: false,
    type: "egress",
  }),
  ended: { on: valid_to, by: ended_by, as: action },
  isTransient: is_transient === true,
});
