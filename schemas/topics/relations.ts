import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string" } as const;

const topics = {
  type: "object",
  additionalProperties: false,
  required: ["total", "topics"],
  properties: {
    total: { type: "integer", minimum: 0 },
    topics: {
      type: "array",
      description: "The first 20 by external id.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["id", "externalId", "name", "namespace"],
        properties: { id: text, externalId: text, name: text, namespace: text },
      },
    },
  },
} as const;

export const topicRelationsSchema = {
  $id: "topic-relations",
  type: "object",
  additionalProperties: false,
  required: ["externalId", "impossible", "same", "containing", "complete"],
  properties: {
    externalId: text,
    impossible: {
      type: "array",
      items: text,
      description: "Conditions that no event meets all at once, so that no event belongs to the topic.",
    },
    same: { ...topics, description: "Topics with the same events." },
    containing: { ...topics, description: "Topics with all of its events, and others." },
    complete: {
      type: "boolean",
      description:
        "False if there may be more: too many topics to compare, or no event of the topic was found.",
    },
  },
} as const;

export type TopicRelationsView = FromSchema<typeof topicRelationsSchema>;
