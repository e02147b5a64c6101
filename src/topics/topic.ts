import { RejectionError } from "@topicsync/lib/errors";
import { createValidator } from "@topicsync/lib/validation";
import { topicBodySchema, type TopicBody } from "../../schemas/topics/topic.ts";
import type { SourceView } from "../../schemas/topics/view.ts";
import type { ShownDetails } from "./details/details.ts";

/** The definition of a topic. Absent members are "", so that each definition has one form. */
export interface TopicDefinition {
  readonly externalId: string;
  readonly name: string;
  readonly namespace: string;
  readonly headerQuery: string;
  readonly contentQuery: string;
}

/** Checks the form of a definition, wherever it comes from. */
export const checkTopicBody = createValidator<TopicBody>(topicBodySchema);

/** What created a topic, or changed it last. */
export type Source = Readonly<SourceView>;

/** The record that a topic's definition came from. */
export type AnnouncementSource = Extract<Source, { readonly kind: "announcement" }>;

export type UserSource = Extract<Source, { readonly kind: "http" }>;

/** What an apply of a plan says about itself. */
export type ChangeLabel = NonNullable<UserSource["change"]>;

export interface Topic extends TopicDefinition {
  /** The sys_id: 32 lower-case hexadecimal digits. */
  readonly id: string;
  /** From 1; grows by one with each write that changes the topic. */
  readonly version: number;
  readonly source: Source;
  readonly createdOn: Date;
  readonly updatedOn: Date;
  /** Absent until its definition changes. */
  readonly previous?: PreviousTopic;
  /** The last external ids that it had before; absent unless it was renamed. */
  readonly formerIds?: readonly string[];
}

/** The definition of a topic before its last change. */
export interface PreviousTopic extends Omit<TopicDefinition, "externalId"> {
  readonly source: Source;
  /** When that definition was stored. */
  readonly updatedOn: Date;
}

/** A topic that was retired by a tombstone, or disabled by a user. */
export interface RetiredTopic {
  readonly topic: Topic;
  readonly retiredOn: Date;
  readonly retiredBy: Source;
}

/** How a version of a topic was replaced; `adopted`: by the channel, with the same definition. */
export const versionActions = ["changed", "renamed", "adopted"] as const;
export type VersionAction = (typeof versionActions)[number];

/** A version of a topic that another one has replaced. */
export interface ReplacedVersion {
  readonly topic: Topic;
  readonly endedBy: Source;
  readonly endedOn: Date;
  readonly action: VersionAction;
  /** It was never visible: the batch that stored it replaced it. */
  readonly isTransient: boolean;
}

/** An active topic, or a retired one with its retirement. */
export interface ListedTopic {
  readonly topic: Topic;
  readonly retired?: Omit<RetiredTopic, "topic"> | undefined;
  /** Absent where they were not looked up, and for a topic without details. */
  readonly details?: ShownDetails | undefined;
  /** When an event was counted last, if that was looked up and there was one. */
  readonly lastEventOn?: Date;
  readonly events?: number;
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

/** The part of a topic that is kept when its definition changes. */
export const toPreviousTopic = ({
  name,
  namespace,
  headerQuery,
  contentQuery,
  source,
  updatedOn,
}: Topic): PreviousTopic => ({ name, namespace, headerQuery, contentQuery, source, updatedOn });

/** A key of the unique combination. NUL occurs in none of its members. */
export const getCombination = (topic: Omit<TopicDefinition, "externalId">): string =>
  `${topic.name}\0${topic.namespace}\0${topic.headerQuery}\0${topic.contentQuery}`;

export const isSameDefinition = (a: TopicDefinition, b: TopicDefinition): boolean =>
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

export function createCombinationRejection(
  definition: TopicDefinition,
  holder: TopicDefinition,
): RejectionError {
  return new RejectionError(
    "DUPLICATE_COMBINATION",
    `The combination of topic name, namespace, header query and content query of "${definition.externalId}" ` +
      `is held by the topic with the external id "${holder.externalId}".`,
    [combinationFault],
  );
}
