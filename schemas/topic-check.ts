import type { FromSchema } from "json-schema-to-ts";

import { topicBodySchema } from "./topic.ts";

const { name, externalId, ...optional } = topicBodySchema.properties;
const draft = { type: ["string", "null"], format: "text" } as const;

/** A definition on its way: whatever is there already. */
export const topicDraftSchema = {
  $id: "topic-draft",
  type: "object",
  additionalProperties: false,
  properties: {
    name: { ...draft, description: name.description },
    externalId: { ...draft, description: externalId.description },
    ...optional,
  },
} as const;

export type TopicDraft = FromSchema<typeof topicDraftSchema>;

/** What would be refused if it were created now. */
export const topicCheckSchema = {
  $id: "topic-check",
  type: "object",
  additionalProperties: false,
  required: ["faults"],
  properties: {
    faults: {
      type: "array",
      description: "As `createTopic` would tell them; none when it would take the definition.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["path", "message"],
        properties: {
          path: { type: "string", description: "JSON Pointer to the member; empty for the combination." },
          message: { type: "string" },
        },
      },
    },
  },
} as const;

export type TopicCheck = FromSchema<typeof topicCheckSchema>;
