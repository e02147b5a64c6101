import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string" } as const;
const countOrNull = { type: ["integer", "null"], minimum: 0 } as const;

export const topicConsumersSchema = {
  $id: "topic-consumers",
  type: "object",
  additionalProperties: false,
  required: ["externalId", "egressTopic", "sharedBy", "observed", "notes"],
  properties: {
    externalId: text,
    egressTopic: { type: ["string", "null"], description: "Null if no router is configured." },
    sharedBy: {
      enum: ["topic", "namespace", "all", null],
      description:
        "Whose events the egress topic has: those of this topic, of its namespace, or of all topics. Kafka knows who reads the egress topic, and not which of its events.",
    },
    observed: {
      type: "object",
      additionalProperties: false,
      required: ["asOf", "reading", "groups", "problems"],
      properties: {
        asOf: {
          description: "When the groups were read; null before the first time.",
          oneOf: [{ type: "null" }, { type: "string", format: "date-time" }],
        },
        reading: { type: "boolean", description: "Whether they are being read again in the background." },
        groups: {
          type: "array",
          description: "The consumer groups with committed offsets in the egress topic, by name.",
          items: {
            type: "object",
            additionalProperties: false,
            required: ["group", "protocol", "state", "lag", "memberCount", "members"],
            properties: {
              group: text,
              protocol: { ...text, description: "`classic`, or `consumer` for that of KIP-848." },
              state: {
                enum: ["stable", "rebalancing", "stopped", "unknown"],
                description:
                  "`stopped`: it has no members. Programs that choose their partitions themselves look like that, too.",
              },
              lag: {
                ...countOrNull,
                description:
                  "Records after the committed offsets, as Kafka's tools count them; null if unknown.",
              },
              memberCount: { ...countOrNull, description: "Null if unknown." },
              members: {
                description: "At most 100; null if unknown, or without the right `status.read`.",
                oneOf: [
                  { type: "null" },
                  {
                    type: "array",
                    items: {
                      type: "object",
                      additionalProperties: false,
                      required: ["clientId", "host"],
                      properties: { clientId: text, host: text },
                    },
                  },
                ],
              },
            },
          },
        },
        problems: {
          type: "array",
          items: text,
          description:
            "What could not be read, and the rights that are missing; empty without the right `status.read`.",
        },
      },
    },
    notes: { type: "array", items: text, description: "What these lists do not say." },
  },
} as const;

export type TopicConsumersView = FromSchema<typeof topicConsumersSchema>;
