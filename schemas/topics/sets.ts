import type { FromSchema } from "json-schema-to-ts";

import { topicCheckSchema } from "./check.ts";
import { topicDetailsSchema } from "./details.ts";
import { setNameSchema } from "./file.ts";
import { planChangeSchema } from "./plan.ts";
import { sourceSchema } from "./view.ts";
import { definitionMembers, definitionSchema } from "./topic.ts";
import { query, trueOrFalse } from "../query.ts";
import {
  count,
  integer,
  list,
  named,
  nullableText,
  object,
  objects,
  orNull,
  positive,
  text,
  time,
} from "../shapes.ts";

const { externalId } = definitionSchema.properties;

const setMembers = {
  name: text(),
  "origin?": text("The repository that it is applied from, if known."),
  createdOn: time(),
  createdBy: text(),
  applies: objects("The latest first, at most 100.", {
    plan: text("Identifies the plan."),
    "revision?": text(),
    by: text("The user; `cli:NAME` on the command line."),
    startedOn: time(),
    endedOn: time(),
    applied: count("The number of changes that are stored."),
    total: count("The number of changes in the plan."),
  }),
} as const;

const set = object(setMembers);

export type TopicSetView = FromSchema<typeof set>;

const drift = object("Topics that something else than the set has changed since it was applied.", {
  topics: objects({
    externalId: text(),
    path: nullableText("The file that defines it."),
    applied: integer("The version of the topic that was applied."),
    version: { type: ["integer", "null"], description: "The current version; null: it is not active." },
    message: text(),
  }),
  next: nullableText(
    "The `after` of the next request: 1,000 topics are compared at a time. Null at the end.",
  ),
});

export const topicSetSchema = named("topic-set", { ...setMembers, drift });

export type TopicSetDetail = FromSchema<typeof topicSetSchema>;

export const topicSetQuerySchema = query("topic-set-query", {
  after: {
    ...externalId,
    description: "Continue the drift after this external id, the `next` of the previous response.",
  },
});

export type TopicSetQuery = FromSchema<typeof topicSetQuerySchema>;

export const topicSetListSchema = named("topic-set-list", { sets: list(set) });

export const databaseSchema = named("database", {
  id: text("The UUID of the database, which plans name."),
  version: text("The version of topicsync."),
});

/** A topic as plans see it. */
const known = object({
  externalId: text(),
  topic: {
    description: "Null if no active topic has the external id.",
    oneOf: orNull({
      id: text("The sys_id."),
      version: positive(),
      ...definitionMembers,
      source: sourceSchema,
      updatedOn: time(),
    }),
  },
  details: {
    description: "Null if it was never described, and belongs to no set.",
    oneOf: [{ type: "null" }, topicDetailsSchema],
  },
});

export type KnownTopicView = FromSchema<typeof known>;

export const maxLookUpIds = 500;
export const maxLookUpDefinitions = 50;

export const topicLookUpSchema = named("topic-look-up", {
  "set?": { ...setNameSchema, description: "Find the topics of this set, a page at a time." },
  "after?": { ...externalId, description: "The `next` of the previous page." },
  "externalIds?": {
    type: "array",
    maxItems: maxLookUpIds,
    items: externalId,
    description: "External ids of topics to find.",
  },
  "definitions?": {
    type: "array",
    maxItems: maxLookUpDefinitions,
    items: definitionSchema,
    description: "Definitions to find the holders of their combinations, and warnings, for.",
  },
});

export type TopicLookUp = FromSchema<typeof topicLookUpSchema>;

export const topicLookUpReplySchema = named("topic-look-up-reply", {
  topics: list(known, "A page of the topics of `set`, and those of `externalIds` that are known."),
  next: nullableText("The `after` of the next page; null on the last page."),
  holders: objects("Topics that hold the combinations of `definitions`, and perhaps others.", {
    externalId: text(),
    ...definitionMembers,
  }),
  warnings: {
    type: "array",
    description: "For each of `definitions`: conditions that none of the last events meets.",
    items: topicCheckSchema.properties.warnings,
  },
});

export type TopicLookUpReply = FromSchema<typeof topicLookUpReplySchema>;

/** What a path names when it may create a set. */
export const topicSetNameSchema = named("topic-set-name", { name: setNameSchema });

/** A batch of a plan: all of its changes are made, or none. */
export const setChangesSchema = named("topic-set-changes", {
  database: text("The UUID of the database that the plan is for."),
  "origin?": { type: "string", format: "text", maxLength: 1_000 },
  "revision?": { type: "string", format: "text", maxLength: 200 },
  plan: {
    type: "string",
    pattern: "^[0-9a-f]{16}$",
    description: "The first digits of the digest of the plan.",
  },
  total: count("The number of changes in the plan."),
  changes: { type: "array", minItems: 1, maxItems: 500, items: planChangeSchema },
});

export type SetChanges = FromSchema<typeof setChangesSchema>;

export const setChangesReplySchema = named("topic-set-changes-reply", {
  applied: count("The number of changes that were made; the others were made before."),
});

/** The query parameter of operations that change a topic by itself. */
export const forceQuerySchema = query("force-query", {
  force: {
    ...trueOrFalse(),
    default: false,
    description: "Change a topic although it belongs to a set, whose next apply may change it back.",
  },
});

export type ForceQuery = FromSchema<typeof forceQuerySchema>;
