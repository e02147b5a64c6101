import { topicBodySchema, type TopicBody } from "../../schemas/topic.ts";
import { definitionOf, type TopicDefinition } from "../../src/topics/topic.ts";
import { compile } from "../../src/validation.ts";
import { below, plain, refusalAt, type Place } from "./place.ts";

/** What an announcement's value says of a topic. */
export interface Content {
  readonly externalId: string;
  /** Undefined: the topic is retired. */
  readonly definition: TopicDefinition | undefined;
  /** Where the external id stands. */
  readonly idAt: Place;
}

const checkTopic = compile<TopicBody>(topicBodySchema);

const plainId = below(plain, "/externalId");

/** Reads a JSON value that must be a definition. Throws a Refusal. */
export function definitionContent(value: unknown, place: Place): Content {
  const checked = checkTopic(value);
  if (!checked.ok) throw refusalAt(place, "SCHEMA_VIOLATION", "is no topic definition.", checked.faults);
  const definition = definitionOf(checked.value);
  const idAt = place === plain ? plainId : below(place, "/externalId");
  return { externalId: definition.externalId, definition, idAt };
}
