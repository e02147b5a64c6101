import type { FromSchema } from "json-schema-to-ts";

import { topicDetailsSchema } from "./details.ts";

const text = { type: "string" } as const;
const time = { type: "string", format: "date-time" } as const;

/**
 * Active topics match events. `retired`: by a tombstone of the channel. `disabled`: by a user, who can enable
 * it again.
 */
export const topicStates = ["active", "retired", "disabled"] as const;

/** What the apply of a plan says about itself. */
export const changeLabelSchema = {
  type: "object",
  description: "The plan that the change was part of.",
  additionalProperties: false,
  required: ["set", "plan"],
  properties: {
    set: { type: "string", format: "text", minLength: 1, maxLength: 100, description: "The set of topics." },
    revision: {
      type: "string",
      format: "text",
      minLength: 1,
      maxLength: 200,
      description: "The revision of the files, such as a commit.",
    },
    plan: {
      type: "string",
      format: "text",
      minLength: 1,
      maxLength: 100,
      description: "The id of the plan.",
    },
  },
} as const;

/** What created or changed a topic: a user, or a record of the announcements topic. */
export const sourceSchema = {
  oneOf: [
    {
      type: "object",
      additionalProperties: false,
      required: ["kind", "user"],
      properties: {
        kind: { const: "http" },
        user: { ...text, description: "The user; `cli:NAME` on the command line." },
        change: changeLabelSchema,
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
  version: {
    type: "integer",
    minimum: 1,
    description: "Grows by one with each change, also when the topic is adopted, renamed or enabled.",
  },
  state: {
    enum: topicStates,
    description: "`retired`: by a tombstone. `disabled`: by a user, who can enable the topic again.",
  },
  source: sourceSchema,
  createdOn: time,
  updatedOn: time,
  lastEventOn: {
    ...time,
    description:
      "When the router counted its last event, up to ten minutes late; absent if none was counted.",
  },
  events: {
    type: "integer",
    minimum: 1,
    description: "How many events the router has counted, an estimate; absent if none was counted.",
  },
  egressTopic: {
    ...text,
    description: "The Kafka topic that its events are forwarded to; absent without a router.",
  },
  egressFault: {
    ...text,
    description: "Why no events can be forwarded to `egressTopic`; absent if they can.",
  },
  retiredOn: time,
  retiredBy: sourceSchema,
  previous: {
    type: "object",
    description: "The definition before the last change; absent if it never changed.",
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
  "version",
  "state",
  "source",
  "createdOn",
  "updatedOn",
] as const;

/** A topic in a list. */
export const topicViewSchema = {
  type: "object",
  additionalProperties: false,
  required: topicRequired,
  properties: { ...topicProperties, details: topicDetailsSchema },
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
        "The conditions in words; an event must meet all of them. Empty for a filter that matches every event.",
    },
    notes: { type: "array", items: text, description: "How the values are compared." },
    fault: {
      description: "Why the filter is invalid, so that no event belongs to the topic; null if it is valid.",
      oneOf: [
        { type: "null" },
        {
          type: "object",
          additionalProperties: false,
          required: ["message", "position"],
          properties: {
            message: text,
            position: { type: "integer", description: "In UTF-16 code units, from 0." },
          },
        },
      ],
    },
  },
} as const;

/** A topic with its details, and its filters in words. */
export const topicDetailSchema = {
  $id: "topic-detail",
  type: "object",
  additionalProperties: false,
  required: [...topicRequired, "filters", "details"],
  properties: {
    ...topicProperties,
    replaced: {
      type: "object",
      description: "How this version was replaced; absent for the current or last one.",
      additionalProperties: false,
      required: ["on", "by", "as"],
      properties: { on: time, by: sourceSchema, as: { enum: ["changed", "renamed", "adopted"] } },
    },
    details: topicDetailsSchema,
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
