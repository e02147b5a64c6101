import type { FromSchema } from "json-schema-to-ts";

import { topicCheckSchema } from "./check.ts";
import { topicDetailsMembers } from "./details.ts";
import { setNameSchema } from "./file.ts";
import { topicBodySchema } from "./topic.ts";

const text = { type: "string" } as const;
const time = { type: "string", format: "date-time" } as const;
const count = { type: "integer", minimum: 0 } as const;

const state = {
  type: "object",
  additionalProperties: false,
  required: ["externalId"],
  properties: {
    externalId: text,
    name: { ...text, description: "Absent, like the filters, for an announced topic." },
    namespace: text,
    headerQuery: text,
    contentQuery: text,
    ...topicDetailsMembers,
    set: text,
    path: { ...text, description: "The file, relative to the root of the repository." },
  },
} as const;

export type PlanStateView = FromSchema<typeof state>;

const planChange = {
  type: "object",
  additionalProperties: false,
  required: ["action", "externalId", "expects", "detailsVersion", "warnings", "notes"],
  properties: {
    action: {
      enum: ["create", "change", "describe", "rename", "adopt", "disable", "release"],
      description:
        "`describe` changes details, `adopt` puts an existing topic under the set, `release` ends the membership of an announced topic.",
    },
    externalId: { ...text, description: "Before the change, unless the topic is created." },
    expects: {
      description: "What the plan has seen of the topic; null if there was none.",
      oneOf: [
        { type: "null" },
        {
          type: "object",
          additionalProperties: false,
          required: ["id", "version", "digest"],
          properties: {
            id: { ...text, description: "The sys_id." },
            version: { type: "integer", minimum: 1 },
            digest: { ...text, description: "Of the definition." },
          },
        },
      ],
    },
    detailsVersion: { ...count, description: "The version of the details; 0 if there were none." },
    before: state,
    after: { ...state, description: "Absent if the topic is disabled or released." },
    effect: {
      enum: ["same", "widened", "narrowed", "disjoint", "changed", "undecided"],
      description: "What changed filters do to the events of the topic.",
    },
    warnings: topicCheckSchema.properties.warnings,
    notes: { type: "array", items: text },
  },
} as const;

export type PlanChangeView = FromSchema<typeof planChange>;

/** Topics stored before the limit on external ids may exceed it. */
const notEmpty = { format: "text", minLength: 1 } as const;
const { name, externalId, namespace, headerQuery, contentQuery } = topicBodySchema.properties;

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

const planFile = {
  type: "object",
  additionalProperties: false,
  required: ["format", "database", "set", "createdOn", "createdBy", "changes", "sha256"],
  properties: {
    format: { const: planFormat },
    database: { ...text, description: "The UUID of the database that the plan is for." },
    set: text,
    origin: { ...text, description: "The repository." },
    revision: text,
    createdOn: time,
    createdBy: text,
    changes: { type: "array", items: planChangeSchema },
    sha256: { ...text, description: "Of the other members, as JSON without white space." },
  },
} as const;

/** The file that `topics plan --out` writes and `topics apply` reads. */
export const topicPlanSchema = { ...planFile, $id: "topic-plan" } as const;

export type TopicPlanFile = FromSchema<typeof planFile>;

const leftovers = {
  type: "array",
  items: {
    type: "object",
    additionalProperties: false,
    required: ["externalId", "path"],
    properties: { externalId: text, path: text },
  },
} as const;

/** What `topics plan --json` prints. */
export const topicPlanReportSchema = {
  $id: "topic-plan-report",
  type: "object",
  additionalProperties: false,
  required: ["plan", "blocked", "orphaned", "unread", "unchanged", "files", "topics"],
  properties: {
    plan: planFile,
    blocked: {
      type: "array",
      description: "Changes that cannot be made.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["externalId", "code", "message"],
        properties: {
          externalId: text,
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
          message: text,
        },
      },
    },
    orphaned: { ...leftovers, description: "Topics that are not in the files; `--prune` disables them." },
    unread: { ...leftovers, description: "Topics whose files were not read." },
    unchanged: count,
    files: count,
    topics: { ...count, description: "The number of topics in the files." },
    impact: { type: "object", description: "With `--impact`: what `topics impact --json` prints." },
  },
} as const;

export type TopicPlanReport = FromSchema<typeof topicPlanReportSchema>;

/** What `topics apply --json` prints. */
export const topicApplySchema = {
  $id: "topic-apply",
  type: "object",
  additionalProperties: false,
  required: ["set", "plan", "applied", "unchanged"],
  properties: {
    set: text,
    plan: { ...text, description: "The digest of the plan." },
    applied: { ...count, description: "The number of topics that were changed." },
    unchanged: { ...count, description: "The number of changes that were made already." },
  },
} as const;
