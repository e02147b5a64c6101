import { topicBodySchema, type TopicBody } from "../../../schemas/topic.ts";
import { definitionOf, type TopicDefinition } from "../../../src/topics/topic.ts";
import { checkOf } from "../../../src/lib/validation.ts";
import { refusalAt, type Place } from "./place.ts";

/** What an announcement's value says of a topic. */
export interface Content {
  readonly externalId: string;
  /** Undefined: the topic is retired. */
  readonly definition: TopicDefinition | undefined;
  /** Where the topic stands, and the member of it that holds the external id. */
  readonly place: Place;
  readonly idMember: "externalId" | "id";
}

const checkTopic = checkOf<TopicBody>(topicBodySchema);

/** Reads a JSON value that must be a definition. Throws a Refusal. */
export function definitionContent(value: unknown, place: Place): Content {
  const checked = checkTopic(value);
  if (!checked.ok) throw refusalAt(place, "SCHEMA_VIOLATION", "is no topic definition.", checked.faults);
  const definition = definitionOf(checked.value);
  return { externalId: definition.externalId, definition, place, idMember: "externalId" };
}
