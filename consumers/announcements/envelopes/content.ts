import { topicBodySchema, type TopicBody } from "../../../schemas/topic.ts";
import { toDefinition, type TopicDefinition } from "../../../src/topics/topic.ts";
import { createValidator } from "../../../src/lib/validation.ts";
import { createRefusal, type JsonLocation } from "./place.ts";

/** What an announcement's value says of a topic. */
export interface Content {
  readonly externalId: string;
  /** Undefined: the topic is retired. */
  readonly definition: TopicDefinition | undefined;
  /** Where the topic stands, and the member of it that holds the external id. */
  readonly place: JsonLocation;
  readonly idMember: "externalId" | "id";
}

const checkTopic = createValidator<TopicBody>(topicBodySchema);

/** Reads a JSON value that must be a definition. Throws a RefusalError. */
export function definitionContent(value: unknown, place: JsonLocation): Content {
  const checked = checkTopic(value);
  if (!checked.ok) throw createRefusal(place, "SCHEMA_VIOLATION", "is no topic definition.", checked.faults);
  const definition = toDefinition(checked.value);
  return { externalId: definition.externalId, definition, place, idMember: "externalId" };
}
