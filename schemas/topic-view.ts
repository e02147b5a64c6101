import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string" } as const;
const time = { type: "string", format: "date-time" } as const;

/** How something came to be: by a user, or by a record of the announcements topic. */
export const sourceSchema = {
  oneOf: [
    {
      type: "object",
      additionalProperties: false,
      required: ["kind", "user"],
      properties: {
        kind: { const: "http" },
        user: { ...text, description: "Who did it; `cli:NAME` on the command line." },
      },
    },
    {
      type: "object",
      additionalProperties: false,
      required: ["kind", "topic", "partition", "offset"],
      properties: {
        kind: { const: "announcement" },
        topic: text,
        partition: { type: "integer" },
        offset: { type: "integer" },
        epoch: {
          type: "integer",
          description:
            "The epoch of the partition's log: absent for the first, 2 after the Kafka topic was deleted and created again.",
        },
      },
    },
  ],
} as const;

export type SourceView = FromSchema<typeof sourceSchema>;

const definition = { name: text, namespace: text, headerQuery: text, contentQuery: text } as const;

const topicProperties = {
  externalId: text,
  ...definition,
  id: { ...text, description: "The sys_id." },
  state: {
    enum: ["stored", "retired", "disabled"],
    description: "Retired: by a tombstone of the channel. Disabled: by a user, who can enable it again.",
  },
  source: sourceSchema,
  createdOn: time,
  updatedOn: time,
  retiredOn: time,
  retiredBy: sourceSchema,
  previous: {
    type: "object",
    description: "What it was before its definition changed last; absent while it has the first one.",
    additionalProperties: false,
    required: ["name", "namespace", "headerQuery", "contentQuery", "source", "updatedOn"],
    properties: { ...definition, source: sourceSchema, updatedOn: time },
  },
} as const;

const topicRequired = [
  "externalId",
  "name",
  "namespace",
  "headerQuery",
  "contentQuery",
  "id",
  "state",
  "source",
  "createdOn",
  "updatedOn",
] as const;

/** A topic as it is listed. */
export const topicViewSchema = {
  type: "object",
  additionalProperties: false,
  required: topicRequired,
  properties: topicProperties,
} as const;

export type TopicView = FromSchema<typeof topicViewSchema>;

const filterInWords = {
  type: "object",
  additionalProperties: false,
  required: ["conditions", "notes", "fault"],
  properties: {
    conditions: {
      type: "array",
      items: text,
      description:
        "A phrase for each condition; all of them hold. None for a filter that matches every event.",
    },
    notes: { type: "array", items: text, description: "How values are compared." },
    fault: {
      description: "Why the filter cannot be read, so that no event belongs to the topic; null when it can.",
      oneOf: [
        { type: "null" },
        {
          type: "object",
          additionalProperties: false,
          required: ["message", "position"],
          properties: {
            message: text,
            position: { type: "integer", description: "Counted from 0 in UTF-16 code units." },
          },
        },
      ],
    },
  },
} as const;

/** Everything about one topic. */
export const topicDetailSchema = {
  $id: "topic-detail",
  type: "object",
  additionalProperties: false,
  required: [...topicRequired, "filters"],
  properties: {
    ...topicProperties,
    filters: {
      type: "object",
      description: "The two filters in words.",
      additionalProperties: false,
      required: ["headerQuery", "contentQuery"],
      properties: { headerQuery: filterInWords, contentQuery: filterInWords },
    },
  },
} as const;

export type TopicDetail = FromSchema<typeof topicDetailSchema>;
