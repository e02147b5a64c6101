import type { FromSchema } from "json-schema-to-ts";

import { topicBodySchema } from "./topic.ts";

const { name, externalId, namespace, ...filters } = topicBodySchema.properties;
const draft = { type: ["string", "null"], format: "text" } as const;

/** A definition that may be incomplete. */
export const topicDraftSchema = {
  $id: "topic-draft",
  type: "object",
  additionalProperties: false,
  properties: {
    name: { ...draft, description: name.description },
    externalId: { ...draft, description: externalId.description },
    namespace: { ...draft, description: namespace.description },
    ...filters,
  },
} as const;

export type TopicDraft = FromSchema<typeof topicDraftSchema>;

const filter = { enum: ["headerQuery", "contentQuery"] } as const;

export const filterWarningCodes = [
  "UNKNOWN_EVENT_TYPE",
  "UNKNOWN_PATH",
  "WRONG_MEMBER",
  "NOT_A_VALUE",
  "UNKNOWN_VALUE",
  "WRONG_KIND",
] as const;

export const topicCheckSchema = {
  $id: "topic-check",
  type: "object",
  additionalProperties: false,
  required: ["faults", "warnings"],
  properties: {
    faults: {
      type: "array",
      description: "The problems that `createTopic` would report; empty if it would create the topic.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["path", "message"],
        properties: {
          path: {
            type: "string",
            description: "JSON Pointer to the member; empty for the combination of members.",
          },
          message: { type: "string" },
        },
      },
    },
    warnings: {
      type: "array",
      description:
        "Conditions that none of the last events meets. They are evidence, not proof, and do not prevent creating the topic.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["code", "filter", "condition", "message", "suggestions"],
        properties: {
          code: { enum: filterWarningCodes },
          filter,
          condition: { type: "string", description: "The condition, as the filter has it." },
          message: { type: "string" },
          suggestions: {
            type: "array",
            description: "What may have been meant, best first.",
            items: {
              type: "object",
              additionalProperties: false,
              required: ["filter", "text"],
              properties: {
                filter,
                text: { type: "string", description: "A path, a value or an event type." },
              },
            },
          },
        },
      },
    },
  },
} as const;

export type TopicCheck = FromSchema<typeof topicCheckSchema>;

/** A condition that none of the last events meets. */
export type FilterWarning = TopicCheck["warnings"][number];
