import { createValidator, type ValidationResult } from "@topicsync/lib/validation";
import {
  definedTopicSchema,
  deletedTopicSchema,
  topicNotificationSchema,
  type DefinedTopic,
  type DeletedTopic,
  type TopicNotification,
} from "../../schemas/tmf688.ts";
import { checkTopicBody, toDefinition, type TopicDefinition } from "../../src/topics/topic.ts";
import {
  createRejection,
  isObject,
  readAs,
  toMember,
  type JsonLocation,
  type JsonObject,
} from "../envelopes/envelope.ts";

/** The topic in an announcement's value. */
export interface TopicContent {
  readonly externalId: string;
  /** Undefined: the topic is retired. */
  readonly definition: TopicDefinition | undefined;
  /** The topic's location, and the member that holds its external id. */
  readonly location: JsonLocation;
  readonly idMember: "externalId" | "id";
}

const checkNotification = createValidator<TopicNotification>(topicNotificationSchema);
const checkDefined = createValidator<DefinedTopic>(definedTopicSchema);
const checkDeleted = createValidator<DeletedTopic>(deletedTopicSchema);

/** Reads a JSON value that must be a definition. Throws a RejectionError. */
export function readDefinition(value: unknown, location: JsonLocation): TopicContent {
  const checked = checkTopicBody(value);
  if (!checked.ok)
    throw createRejection(location, "SCHEMA_VIOLATION", "is not a valid topic definition.", checked.faults);
  const definition = toDefinition(checked.value);
  return { externalId: definition.externalId, definition, location, idMember: "externalId" };
}

/** Whether a value is a TMF688 notification. */
export const isNotification = (json: unknown): boolean =>
  isObject(json) && json["eventType"] !== undefined && json["event"] !== undefined;

/** Reads a TMF688 notification of a topic that was created, changed or deleted. Throws a RejectionError. */
export function readNotification(json: unknown, outer: JsonLocation): TopicContent {
  const location = readAs("a TMF688 notification", outer);
  const checked = checkNotification(json);
  if (!checked.ok) {
    throw createRejection(location, "SCHEMA_VIOLATION", "is not a supported notification.", checked.faults);
  }
  const { eventType, event } = checked.value;
  const at = toMember(location, "/event/topic");
  if (eventType === "TopicDeleteEvent") {
    const { id } = identify(checkDeleted, event.topic, { at, lacks: "names no topic to retire." });
    return { ...id, definition: undefined, location: at };
  }
  const isPartial = eventType !== "TopicCreateEvent" && isMissing(event.topic["name"]);
  const lacks = isPartial ? `holds no topic definition. ${wholeWanted}` : "holds no topic definition.";
  const { topic, id } = identify(checkDefined, event.topic, { at, lacks });
  return { ...id, definition: toDefinition({ ...topic, externalId: id.externalId }), location: at };
}

const wholeWanted =
  "A change has to carry the whole definition: a compacted log keeps only the last announcement of a key.";

interface Identified<T> {
  readonly topic: T;
  readonly id: Pick<TopicContent, "externalId" | "idMember">;
}

/**
 * The topic, checked, and its external id: `externalId`, which is ours, or else TMF688's own `id`. Throws a
 * RejectionError.
 */
function identify<T>(
  check: (value: unknown) => ValidationResult<T>,
  topic: JsonObject,
  { at, lacks }: { at: JsonLocation; lacks: string },
): Identified<T> {
  const checked = check(topic);
  const idMember = isMissing(topic["externalId"]) ? "id" : "externalId";
  const externalId = topic[idMember];
  if (checked.ok && typeof externalId === "string")
    return { topic: checked.value, id: { externalId, idMember } };
  const faults = checked.ok ? [] : checked.faults;
  const noId = { path: "/id", message: "is required, unless externalId is given" };
  throw createRejection(at, "SCHEMA_VIOLATION", lacks, isMissing(externalId) ? [...faults, noId] : faults);
}

const isMissing = (value: unknown): boolean => value === undefined || value === null;
