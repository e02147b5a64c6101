import type { FromSchema } from "json-schema-to-ts";

import { changeLabelSchema } from "./view.ts";
import { topicBodySchema } from "./topic.ts";

const { type, additionalProperties, required, properties } = topicBodySchema;
/** Without its `$id`, which would occur twice. */
const definition = { type, additionalProperties, required, properties } as const;

const externalId = {
  type: "string",
  format: "text",
  minLength: 1,
  description: "The external id of the topic to change.",
} as const;
const version = {
  type: "integer",
  minimum: 1,
  description: "The version that the topic must have.",
} as const;
const expected = {
  ...definition,
  description:
    "The definition that the topic must have: after a backup was restored, version numbers can repeat. Not compared if absent.",
} as const;

export const changeKinds = ["create", "change", "disable", "enable"] as const;

/** The body of `POST /api/topicsync/v1/topic-changes`. */
export const topicChangesBodySchema = {
  $id: "topic-changes",
  type: "object",
  additionalProperties: false,
  required: ["changes"],
  properties: {
    changes: {
      type: "array",
      minItems: 1,
      maxItems: 500,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["kind"],
        properties: {
          kind: {
            enum: changeKinds,
            description:
              "`create` needs `topic`; `change` needs `externalId`, `version` and `topic`, whose external id renames the topic if it differs; `disable` and `enable` need `externalId` and `version`. `enable` brings back the topic that was disabled last, with the definition `topic` if it is given.",
          },
          externalId,
          version,
          expected,
          topic: { ...definition, description: "The new definition." },
        },
      },
    },
    label: changeLabelSchema,
    dryRun: {
      type: "boolean",
      description:
        "Nothing is stored; the response is what it would be. The sys_ids of topics that would be created are not kept.",
    },
  },
  examples: [
    {
      changes: [
        {
          kind: "change",
          externalId: "alarms",
          version: 3,
          topic: { name: "Alarms", externalId: "alarms", contentQuery: "alarm.severity=critical" },
        },
        { kind: "disable", externalId: "old-alarms", version: 1 },
      ],
    },
  ],
} as const;

export type TopicChangesBody = FromSchema<typeof topicChangesBodySchema>;
export type TopicChangeBody = TopicChangesBody["changes"][number];

export const topicChangesReplySchema = {
  $id: "topic-changes-result",
  type: "object",
  additionalProperties: false,
  required: ["results"],
  properties: {
    results: {
      type: "array",
      description: "One for each change, in the same order.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["outcome", "externalId", "id", "version"],
        properties: {
          outcome: {
            enum: ["created", "changed", "renamed", "disabled", "enabled", "unchanged"],
            description: "`unchanged`: the change was stored already.",
          },
          externalId: { type: "string" },
          id: { type: "string", description: "The sys_id." },
          version: { type: "integer", minimum: 1, description: "The version of the topic afterwards." },
        },
      },
    },
  },
} as const;

export type TopicChangesReply = FromSchema<typeof topicChangesReplySchema>;
