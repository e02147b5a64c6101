import {
  definedTopicSchema,
  deletedTopicSchema,
  topicNotificationSchema,
  type DefinedTopic,
  type DeletedTopic,
  type TopicNotification,
} from "../../../schemas/tmf688.ts";
import { toDefinition } from "../../../src/topics/topic.ts";
import { createValidator, type ValidationResult } from "../../../src/lib/validation.ts";
import type { Content } from "./content.ts";
import { isObject, type JsonObject } from "./json.ts";
import { member, readAs, createRefusal, type JsonLocation } from "./place.ts";

const checkNotification = createValidator<TopicNotification>(topicNotificationSchema);
const checkDefined = createValidator<DefinedTopic>(definedTopicSchema);
const checkDeleted = createValidator<DeletedTopic>(deletedTopicSchema);

export const isNotification = (json: unknown): boolean =>
  isObject(json) && json["eventType"] !== undefined && json["event"] !== undefined;

/** Reads a TMF688 notification of a topic that was created, changed or deleted. Throws a RefusalError. */
export function notificationContent(json: unknown, outer: JsonLocation): Content {
  const place = readAs("a TMF688 notification", outer);
  const checked = checkNotification(json);
  if (!checked.ok) {
    throw createRefusal(place, "SCHEMA_VIOLATION", "is no notification that can be applied.", checked.faults);
  }
  const { eventType, event } = checked.value;
  const at = member(place, "/event/topic");
  if (eventType === "TopicDeleteEvent") {
    const { id } = identified(checkDeleted, event.topic, { at, lacks: "names no topic to retire." });
    return { ...id, definition: undefined, place: at };
  }
  const isPartial = eventType !== "TopicCreateEvent" && isMissing(event.topic["name"]);
  const lacks = isPartial ? `holds no topic definition. ${wholeWanted}` : "holds no topic definition.";
  const { topic, id } = identified(checkDefined, event.topic, { at, lacks });
  return { ...id, definition: toDefinition({ ...topic, externalId: id.externalId }), place: at };
}

const wholeWanted =
  "A change has to carry the whole definition: a compacted log keeps only the last announcement of a key.";

interface Identified<T> {
  readonly topic: T;
  readonly id: Pick<Content, "externalId" | "idMember">;
}

/** The topic, checked, and its external id: `externalId`, which is ours, or else TMF688's own `id`. Throws a RefusalError. */
function identified<T>(
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
  throw createRefusal(at, "SCHEMA_VIOLATION", lacks, isMissing(externalId) ? [...faults, noId] : faults);
}

const isMissing = (value: unknown): boolean => value === undefined || value === null;
