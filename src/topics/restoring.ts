import type { AuditEvent } from "../lib/audit.ts";
import type { DefinitionChange, ExpectedTopic } from "./definition-change.ts";
import { ChangesRejectedError, type ChangeOptions } from "./changing.ts";
import { UnknownTopicError } from "./disabling.ts";
import type { TopicHistory } from "./history.ts";
import type { TopicReader } from "./listing.ts";
import type { TopicService } from "./service.ts";
import type { Topic, TopicDefinition } from "./topic.ts";

/** A version of a topic that the history does not have. */
export class UnknownVersionError extends Error {
  override readonly name = "UnknownVersionError";
}

interface RestoringServices {
  readonly topics: TopicService;
  readonly topicReader: TopicReader;
  readonly topicHistory: Pick<TopicHistory, "findVersion">;
}

/** What one change did. */
export interface ChangeResult {
  readonly topic: Topic;
  readonly changed: boolean;
  readonly events: readonly AuditEvent[];
}

/** Changes one topic. Throws the reason why it cannot be changed, and UnavailableError. */
export async function changeTopic(
  topics: TopicService,
  change: DefinitionChange,
  options: ChangeOptions,
): Promise<ChangeResult> {
  try {
    const { results, events } = await topics.change([change], options);
    const [result] = results;
    if (result === undefined) throw new Error("a change has no result");
    return { topic: result.topic, changed: result.outcome !== "unchanged", events };
  } catch (error) {
    throw error instanceof ChangesRejectedError ? (error.rejections[0]?.problem ?? error) : error;
  }
}

export interface RestoreRequest {
  readonly externalId: string;
  readonly version: number;
  readonly expected?: ExpectedTopic | undefined;
  /** Throws if the caller may not store a topic with the definition of the version. */
  readonly checkDefinition?: ((definition: TopicDefinition) => void) | undefined;
}

/**
 * Stores the definition of an earlier version as a new version of the topic, under its sys_id and its present
 * external id; a disabled topic becomes active again. Throws UnknownTopicError, UnknownVersionError, and as
 * `changeTopic`.
 */
export async function restoreTopic(
  { topics, topicReader, topicHistory }: RestoringServices,
  { externalId, version, expected, checkDefinition }: RestoreRequest,
  options: ChangeOptions,
): Promise<ChangeResult> {
  const found = await topicReader.find(externalId);
  if (found?.topic.externalId !== externalId)
    throw new UnknownTopicError(`there is no topic with the external id "${externalId}"`);
  options.check?.(found.topic);
  const restored = await topicHistory.findVersion(externalId, version);
  if (restored === undefined)
    throw new UnknownVersionError(
      `the history of the topic "${externalId}" has no version ${version}; its last one is ${found.topic.version}`,
    );
  const { name, namespace, headerQuery, contentQuery } = restored.topic;
  const definition = { externalId, name, namespace, headerQuery, contentQuery };
  checkDefinition?.(definition);
  const kind = found.retired === undefined ? ("change" as const) : ("enable" as const);
  return changeTopic(topics, { kind, externalId, expected, definition }, options);
}
