import type { FromSchema } from "json-schema-to-ts";

import { nonEmpty, nullableInput } from "./shapes.ts";

/**
 * The context attributes of a CloudEvent in structured or binary mode (CloudEvents 1.0). Extension attributes
 * are allowed.
 */
export const contextAttributesSchema = {
  $id: "cloud-event-context",
  type: "object",
  required: ["id", "source", "specversion", "type"],
  properties: {
    id: nonEmpty("Identifies the event, together with its source."),
    source: nonEmpty("Where the event happened, a URI reference."),
    specversion: {
      type: "string",
      pattern: "^1\\.0$",
      expected: '"1.0", the only supported version of CloudEvents',
    },
    type: nonEmpty("What happened."),
    // null and a missing attribute mean the same (CloudEvents JSON format 1.0, section 2.2).
    datacontenttype: nullableInput("Media type of the data; JSON if absent."),
    dataschema: nullableInput("URI of the schema that the data follows."),
    subject: nullableInput("What the event is about."),
    time: nullableInput("When it happened (RFC 3339)."),
  },
} as const;

export type ContextAttributes = FromSchema<typeof contextAttributesSchema>;

/** A CloudEvent as JSON (CloudEvents JSON format 1.0): its attributes and its data, in one of two members. */
export const cloudEventSchema = {
  ...contextAttributesSchema,
  $id: "cloud-event",
  properties: {
    ...contextAttributesSchema.properties,
    data: { description: "The data, if it is JSON: a topic definition or a TMF688 notification." },
    data_base64: {
      type: ["string", "null"],
      pattern: "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
      expected: "Base64 (RFC 4648, section 4)",
      description: "The data as bytes.",
    },
  },
} as const;

export type CloudEvent = FromSchema<typeof cloudEventSchema>;
