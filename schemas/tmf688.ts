import type { FromSchema } from "json-schema-to-ts";

import { maxTopicTextCharacters } from "./topics/topic.ts";
import { limited, named, nonEmpty, nullable, nullableInput } from "./shapes.ts";

/**
 * A notification about a topic (TMF688 Event Management). Additional members are allowed, also next to the
 * topic: eventId, eventTime, correlationId, domain and vendors' extensions.
 */
export const topicNotificationSchema = {
  $id: "tmf688-notification",
  type: "object",
  required: ["eventType", "event"],
  properties: {
    eventType: {
      enum: ["TopicCreateEvent", "TopicAttributeValueChangeEvent", "TopicChangeEvent", "TopicDeleteEvent"],
      description:
        "A change is a `TopicChangeEvent` (TMF688) or a `TopicAttributeValueChangeEvent` (TMF630 guidelines).",
    },
    event: {
      type: "object",
      required: ["topic"],
      properties: { topic: { type: "object", description: "The topic." } },
    },
  },
} as const;

export type TopicNotification = FromSchema<typeof topicNotificationSchema>;

/**
 * The topic of a TopicDeleteEvent: one of its two ids is enough. Longer texts than a new topic may have are
 * allowed, so that every stored topic can be retired.
 */
export const deletedTopicSchema = {
  ...named("tmf688-deleted-topic", {
    "id?": nullable(nonEmpty("Identifier of the topic; its external id if it has no externalId.")),
    "href?": { description: "URL of the topic; ignored." },
    "name?": nullableInput(),
    "contentQuery?": nullableInput("Filter on the content of the event."),
    "headerQuery?": nullableInput("Filter on the members of the event."),
    "namespace?": nullableInput("Namespace of the topic (not part of TMF688)."),
    "externalId?": nullable(nonEmpty("Unique external identifier of the topic (not part of TMF688).")),
  }),
  // @type, @baseType, @schemaLocation.
  patternProperties: { "^@": {} },
} as const;

const maxLength = maxTopicTextCharacters;
const { id: identifier, externalId, namespace, ...others } = deletedTopicSchema.properties;

/** TMF688's Topic resource, in full: a compacted log keeps only the last announcement of a key. */
export const definedTopicSchema = {
  ...deletedTopicSchema,
  $id: "tmf688-topic",
  required: ["name"],
  properties: {
    ...others,
    id: { ...identifier, maxLength },
    externalId: { ...externalId, maxLength },
    namespace: { ...namespace, maxLength },
    name: limited(maxLength, "Name of the topic."),
  },
} as const;

export type DeletedTopic = FromSchema<typeof deletedTopicSchema>;
export type DefinedTopic = FromSchema<typeof definedTopicSchema>;
