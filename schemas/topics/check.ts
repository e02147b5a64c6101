import type { FromSchema } from "json-schema-to-ts";

import { definitionSchema } from "./topic.ts";
import { named, nullableInput, objects, partial, text } from "../shapes.ts";

const { name, externalId, namespace, ...filters } = definitionSchema.properties;

/** A definition that may be incomplete. */
export const topicDraftSchema = named(
  "topic-draft",
  partial({
    name: nullableInput(name.description),
    externalId: nullableInput(externalId.description),
    namespace: nullableInput(namespace.description),
    ...filters,
  }),
);

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

export const topicCheckSchema = named("topic-check", {
  faults: objects("The problems that `createTopic` would report; empty if it would create the topic.", {
    path: text("JSON Pointer to the member; empty for the combination of members."),
    message: text(),
  }),
  warnings: objects(
    "Conditions that none of the last events meets. They are evidence, not proof, and do not prevent creating the topic.",
    {
      code: { enum: filterWarningCodes },
      filter,
      condition: text("The condition, as the filter has it."),
      message: text(),
      suggestions: objects("What may have been meant, best first.", {
        filter,
        text: text("A path, a value or an event type."),
      }),
    },
  ),
});

export type TopicCheck = FromSchema<typeof topicCheckSchema>;

/** A condition that none of the last events meets. */
export type FilterWarning = TopicCheck["warnings"][number];
