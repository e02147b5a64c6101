import type { TopicBody } from "../../schemas/topic.ts";
import { RefusalError } from "../lib/errors.ts";
import type { RecordPosition } from "../sync/records.ts";

/** What a topic is, in the API's names. Absent members are "": there is one way to write each definition. */
export interface TopicDefinition {
  readonly externalId: string;
  readonly name: string;
  readonly namespace: string;
  readonly headerQuery: string;
  readonly contentQuery: string;
}

/** The record that a topic's definition came from. */
export interface AnnouncementSource extends RecordPosition {
  readonly kind: "announcement";
}

/** How a topic came to be as it is. */
export type Source = { readonly kind: "http"; readonly user: string } | AnnouncementSource;

/** A stored topic. */
export interface Topic extends TopicDefinition {
  /** The sys_id: 32 lower-case hexadecimal digits. */
  readonly id: string;
  readonly source: Source;
  readonly createdOn: Date;
  readonly updatedOn: Date;
  /** Absent while its definition is the first that it had. */
  readonly previous?: PreviousTopic;
}

/** What a topic was before its definition changed last; one step back and no further. */
export interface PreviousTopic extends Omit<TopicDefinition, "externalId"> {
  readonly source: Source;
  /** When it had become so. */
  readonly updatedOn: Date;
}

/** A topic that was retired: by a tombstone of the channel, or by a user, who disabled it. */
export interface RetiredTopic {
  readonly topic: Topic;
  readonly retiredOn: Date;
  readonly retiredBy: Source;
}

/** An active topic, or a retired one with its retirement. */
export interface ListedTopic {
  readonly topic: Topic;
  readonly retired?: Omit<RetiredTopic, "topic"> | undefined;
}

/** The definition in its one canonical form: null and a missing member mean "". */
export function toDefinition(body: TopicBody): TopicDefinition {
  return {
    externalId: body.externalId,
    name: body.name,
    namespace: body.namespace ?? "",
    headerQuery: body.headerQuery ?? "",
    contentQuery: body.contentQuery ?? "",
  };
}

/** A topic as it will be remembered once its definition changes. */
export const toPreviousTopic = ({
  name,
  namespace,
  headerQuery,
  contentQuery,
  source,
  updatedOn,
}: Topic): PreviousTopic => ({ name, namespace, headerQuery, contentQuery, source, updatedOn });

/** A text that two definitions share exactly when their unique combination is the same. NUL occurs in none of them. */
export const getCombination = (topic: TopicDefinition): string =>
  `${topic.name}\0${topic.namespace}\0${topic.headerQuery}\0${topic.contentQuery}`;

export const sameDefinition = (a: TopicDefinition, b: TopicDefinition): boolean =>
  a.externalId === b.externalId &&
  a.name === b.name &&
  a.namespace === b.namespace &&
  a.headerQuery === b.headerQuery &&
  a.contentQuery === b.contentQuery;

/** The two faults of specification 4.3, in its own words. */
export const externalIdFault = {
  path: "/externalId",
  message: "already belongs to another topic; use a unique topic external id",
} as const;
export const combinationFault = {
  path: "",
  message:
    "another topic has the same name, namespace, headerQuery and contentQuery; use a unique combination of topic name, namespace, header query and content query",
} as const;

/** The refusal of a combination that `holder` has. */
export function combinationRefusal(definition: TopicDefinition, holder: TopicDefinition): RefusalError {
  return new RefusalError(
    "DUPLICATE_COMBINATION",
    `The combination of topic name, namespace, header query and content query of "${definition.externalId}" ` +
      `is held by the topic with the external id "${holder.externalId}".`,
    [combinationFault],
  );
}
