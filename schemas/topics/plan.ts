import type { FromSchema } from "json-schema-to-ts";

import { topicCheckSchema } from "./check.ts";
import { topicDetailsMembers } from "./details.ts";
import { setNameSchema } from "./file.ts";
import { definitionMembers, definitionSchema } from "./topic.ts";
import { count, list, named, object, objects, orNull, partial, positive, text, time } from "../shapes.ts";

const state = object({
  externalId: text(),
  ...partial({
    ...definitionMembers,
    name: text("Absent, like the filters, for an announced topic."),
    ...topicDetailsMembers,
    set: text(),
    path: text("The file, relative to the root of the repository."),
  }),
});

export type PlanStateView = FromSchema<typeof state>;

const planChange = object({
  action: {
    enum: ["create", "change", "describe", "rename", "adopt", "disable", "release"],
    description:
      "`describe` changes details, `adopt` puts an existing topic under the set, `release` ends the membership of an announced topic.",
  },
  externalId: text("Before the change, unless the topic is created."),
  expects: {
    description: "What the plan has seen of the topic; null if there was none.",
    oneOf: orNull({
      id: text("The sys_id."),
      version: positive(),
      digest: text("Of the definition."),
    }),
  },
  detailsVersion: count("The version of the details; 0 if there were none."),
  "before?": state,
  "after?": { ...state, description: "Absent if the topic is disabled or released." },
  "effect?": {
    enum: ["same", "widened", "narrowed", "disjoint", "changed", "undecided"],
    description: "What changed filters do to the events of the topic.",
  },
  warnings: topicCheckSchema.properties.warnings,
  notes: list(text()),
});

export type PlanChangeView = FromSchema<typeof planChange>;

const { name, externalId, namespace, headerQuery, contentQuery } = definitionSchema.properties;

/** Topics stored before the limit on external ids may exceed it. */
const notEmpty = { format: "text", minLength: 1 } as const;

/** What is stored, under the rules of every other door. What was stored before may be older than they are. */
const nextState = {
  ...planChange.properties.after,
  dependentRequired: { namespace: ["name"], headerQuery: ["name"], contentQuery: ["name"] },
  properties: {
    ...state.properties,
    externalId,
    name: { ...name, description: state.properties.name.description },
    namespace: { ...namespace, type: "string" },
    headerQuery: { ...headerQuery, type: "string" },
    contentQuery: { ...contentQuery, type: "string" },
    set: setNameSchema,
    path: { ...state.properties.path, format: "text", maxLength: 4_096 },
  },
} as const;

/** Has the type of its shape: that of all its limits would be too deep for the compiler. */
export const planChangeSchema: typeof planChange = {
  ...planChange,
  properties: {
    ...planChange.properties,
    externalId: { ...planChange.properties.externalId, ...notEmpty },
    after: nextState,
  },
};

export const planFormat = "topicsync-plan/1";

const planFile = object({
  format: { const: planFormat },
  database: text("The UUID of the database that the plan is for."),
  set: text(),
  "origin?": text("The repository."),
  "revision?": text(),
  createdOn: time(),
  createdBy: text(),
  changes: list(planChangeSchema),
  sha256: text("Of the other members, as JSON without white space."),
});

/** The file that `topics plan --out` writes and `topics apply` reads. */
export const topicPlanSchema = { ...planFile, $id: "topic-plan" } as const;

export type TopicPlanFile = FromSchema<typeof planFile>;

const leftovers = objects({ externalId: text(), path: text() });

/** What `topics plan --json` prints. */
export const topicPlanReportSchema = named("topic-plan-report", {
  plan: planFile,
  blocked: objects("Changes that cannot be made.", {
    externalId: text(),
    code: {
      enum: [
        "DEFINITION_MISSING",
        "DUPLICATE_COMBINATION",
        "EXTERNAL_ID_TAKEN",
        "NOT_IN_SET",
        "OWNED_BY_SET",
        "PROTECTED",
        "UNKNOWN_TOPIC",
      ],
    },
    message: text(),
  }),
  orphaned: { ...leftovers, description: "Topics that are not in the files; `--prune` disables them." },
  unread: { ...leftovers, description: "Topics whose files were not read." },
  unchanged: count(),
  files: count(),
  topics: count("The number of topics in the files."),
  "impact?": { type: "object", description: "With `--impact`: what `topics impact --json` prints." },
});

export type TopicPlanReport = FromSchema<typeof topicPlanReportSchema>;

/** What `topics apply --json` prints. */
export const topicApplySchema = named("topic-apply", {
  set: text(),
  plan: text("The digest of the plan."),
  applied: count("The number of topics that were changed."),
  unchanged: count("The number of changes that were made already."),
});
