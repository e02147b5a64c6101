import type { FromSchema } from "json-schema-to-ts";

import { changeLabelSchema } from "./view.ts";
import { definitionSchema } from "./topic.ts";
import { flag, named, nonEmpty, object, objects, positive, text } from "../shapes.ts";

export const changeKinds = ["create", "change", "disable", "enable"] as const;

/** The body of `POST /api/topicsync/v1/topic-changes`. */
export const topicChangesBodySchema = {
  ...named("topic-changes", {
    changes: {
      type: "array",
      minItems: 1,
      maxItems: 500,
      items: object({
        kind: {
          enum: changeKinds,
          description:
            "`create` needs `topic`; `change` needs `externalId`, `version` and `topic`, whose external id renames the topic if it differs; `disable` and `enable` need `externalId` and `version`. `enable` brings back the topic that was disabled last, with the definition `topic` if it is given.",
        },
        "externalId?": nonEmpty("The external id of the topic to change."),
        "version?": positive("The version that the topic must have."),
        "expected?": {
          ...definitionSchema,
          description:
            "The definition that the topic must have: after a backup was restored, version numbers can repeat. Not compared if absent.",
        },
        "topic?": { ...definitionSchema, description: "The new definition." },
      }),
    },
    "label?": changeLabelSchema,
    "dryRun?": flag(
      "Nothing is stored; the response is what it would be. The sys_ids of topics that would be created are not kept.",
    ),
  }),
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

export const topicChangesReplySchema = named("topic-changes-result", {
  results: objects("One for each change, in the same order.", {
    outcome: {
      enum: ["created", "changed", "renamed", "disabled", "enabled", "unchanged"],
      description: "`unchanged`: the change was stored already.",
    },
    externalId: text(),
    id: text("The sys_id."),
    version: positive("The version of the topic afterwards."),
  }),
});

export type TopicChangesReply = FromSchema<typeof topicChangesReplySchema>;
