import { UnknownTopicError, type ExpectedTopic } from "./definition-change.ts";
import { changeTopic, type ChangeOptions, type ChangeResult } from "./changing.ts";
import type { TopicHistory } from "./history.ts";
import type { TopicReader } from "./listing.ts";
import type { TopicService } from "./service.ts";
import { toDefinition, type TopicDefinition } from "./topic.ts";

interface RestoringServices {
  readonly topics: Pick<TopicService, "change">;
  readonly topicReader: Pick<TopicReader, "find">;
  readonly topicHistory: Pick<TopicHistory, "findVersion">;
}

export interface RestoreRequest {
  readonly externalId: string;
  readonly version: number;
  readonly expected?: ExpectedTopic | undefined;
  /** Whether the caller may know about a namespace. */
  readonly canSee: (namespace: string) => boolean;
  /** Throws if the caller may not store a topic with the definition of the version. */
  readonly checkDefinition: (definition: TopicDefinition) => void;
}

/**
 * Stores the definition of an earlier version as a new version of the topic, under its sys_id and its present
 * external id; a disabled topic becomes active again. Throws UnknownTopicError, also for a version that the
 * history does not have, and as `changeTopic`.
 */
export async function restoreTopic(
  { topics, topicReader, topicHistory }: RestoringServices,
  { externalId, version, expected, canSee, checkDefinition }: RestoreRequest,
  options: ChangeOptions,
): Promise<ChangeResult> {
  const found = await topicReader.find(externalId);
  if (found === undefined)
    throw new UnknownTopicError(`there is no topic with the external id "${externalId}"`);
  options.check(found.topic);
  const restored = await topicHistory.findVersion(externalId, version);
  if (restored === undefined || !canSee(restored.topic.namespace))
    throw new UnknownTopicError(
      `the history of the topic "${externalId}" has no version ${version}; its last one is ${found.topic.version}`,
    );
  const definition = { ...toDefinition(restored.topic), externalId };
  checkDefinition(definition);
  const kind = found.retired === undefined ? ("change" as const) : ("enable" as const);
  return changeTopic(topics, { kind, externalId, expected, definition }, options);
}
