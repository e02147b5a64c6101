import { createValidator } from "@topicsync/lib/validation";
import { topicBodySchema, type TopicBody } from "../../schemas/topics/topic.ts";
import { toDefinition, type TopicDefinition } from "../../src/topics/topic.ts";
import { createRejection, type JsonLocation } from "../envelopes/envelope.ts";

/** The topic in an announcement's value. */
export interface TopicContent {
  readonly externalId: string;
  /** Undefined: the topic is retired. */
  readonly definition: TopicDefinition | undefined;
  /** The topic's location, and the member that holds its external id. */
  readonly location: JsonLocation;
  readonly idMember: "externalId" | "id";
}

const checkTopic = createValidator<TopicBody>(topicBodySchema);

/** Reads a JSON value that must be a definition. Throws a RejectionError. */
export function readDefinition(value: unknown, location: JsonLocation): TopicContent {
  const checked = checkTopic(value);
  if (!checked.ok)
    throw createRejection(location, "SCHEMA_VIOLATION", "is not a valid topic definition.", checked.faults);
  const definition = toDefinition(checked.value);
  return { externalId: definition.externalId, definition, location, idMember: "externalId" };
}
