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

export const topicCheckSchema = {
  $id: "topic-check",
  type: "object",
  additionalProperties: false,
  required: ["faults"],
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
  },
} as const;

export type TopicCheck = FromSchema<typeof topicCheckSchema>;
