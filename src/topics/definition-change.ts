import { formatRecordPosition } from "@topicsync/kafka";
import type { Topic, TopicDefinition } from "./topic.ts";

/** What the caller has read of a topic that is to be changed. */
export interface ExpectedTopic {
  readonly version: number;
  /** Not compared if absent. */
  readonly definition?: TopicDefinition | undefined;
}

/** A change of one topic. Without `expected`, it applies to any version. */
export type DefinitionChange =
  | { readonly kind: "create"; readonly definition: TopicDefinition }
  | {
      readonly kind: "change";
      readonly externalId: string;
      readonly expected?: ExpectedTopic | undefined;
      /** Another external id renames the topic. */
      readonly definition: TopicDefinition;
    }
  | {
      /**
       * Moves the topic to the retired ones, so that no event belongs to it and its unique values are free.
       * One that was announced is rejected: reading the log again would undo anything but a tombstone.
       */
      readonly kind: "disable";
      readonly externalId: string;
      readonly expected?: ExpectedTopic | undefined;
    }
  | {
      /** Brings back the topic that was disabled last, with its own definition unless another is given. */
      readonly kind: "enable";
      readonly externalId: string;
      readonly expected?: ExpectedTopic | undefined;
      readonly definition?: TopicDefinition | undefined;
    };

/** No topic, active or disabled, has this external id, or none has the version that was asked for. */
export class UnknownTopicError extends Error {
  override readonly name = "UnknownTopicError";
}

/** The topic was changed since the caller has read it. */
export class VersionConflictError extends Error {
  override readonly name = "VersionConflictError";
  readonly topic: Topic;

  constructor(topic: Topic, { version }: ExpectedTopic) {
    const difference =
      topic.version === version
        ? `has another definition than the version ${version} that was read`
        : `has the version ${topic.version}, not ${version}`;
    const by =
      topic.source.kind === "http"
        ? `the user "${topic.source.user}"`
        : `the announcement ${formatRecordPosition(topic.source)}`;
    super(
      `The topic "${topic.externalId}" ${difference}: ${by} changed it at ${topic.updatedOn.toISOString()}.`,
    );
    this.topic = topic;
  }
}
