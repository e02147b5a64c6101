import type { FromSchema } from "json-schema-to-ts";

import { trueOrFalse } from "../query.ts";
import { topicCheckSchema } from "./check.ts";
import { topicDetailsSchema } from "./details.ts";
import { setNameSchema } from "./file.ts";
import { planChangeSchema } from "./plan.ts";
import { sourceSchema } from "./view.ts";
import { topicBodySchema } from "./topic.ts";

const text = { type: "string" } as const;
const time = { type: "string", format: "date-time" } as const;
const count = { type: "integer", minimum: 0 } as const;

const set = {
  type: "object",
  additionalProperties: false,
  required: ["name", "createdOn", "createdBy", "applies"],
  properties: {
    name: text,
    origin: { ...text, description: "The repository that it is applied from, if known." },
    createdOn: time,
    createdBy: text,
    applies: {
      type: "array",
      description: "The latest first, at most 100.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["plan", "by", "startedOn", "endedOn", "applied", "total"],
        properties: {
          plan: { ...text, description: "Identifies the plan." },
          revision: text,
          by: { ...text, description: "The user; `cli:NAME` on the command line." },
          startedOn: time,
          endedOn: time,
          applied: { ...count, description: "The number of changes that are stored." },
          total: { ...count, description: "The number of changes in the plan." },
        },
      },
    },
  },
} as const;

export type TopicSetView = FromSchema<typeof set>;

const drift = {
  type: "object",
  description: "Topics that something else than the set has changed since it was applied.",
  additionalProperties: false,
  required: ["topics", "next"],
  properties: {
    topics: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["externalId", "path", "applied", "version", "message"],
        properties: {
          externalId: text,
          path: { type: ["string", "null"], description: "The file that defines it." },
          applied: { type: "integer", description: "The version of the topic that was applied." },
          version: { type: ["integer", "null"], description: "The current version; null: it is not active." },
          message: text,
        },
      },
    },
    next: {
      type: ["string", "null"],
      description: "The `after` of the next request: 1,000 topics are compared at a time. Null at the end.",
    },
  },
} as const;

export const topicSetSchema = {
  $id: "topic-set",
  ...set,
  required: [...set.required, "drift"],
  properties: { ...set.properties, drift },
} as const;

export type TopicSetDetail = FromSchema<typeof topicSetSchema>;

export const topicSetQuerySchema = {
  $id: "topic-set-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    after: {
      ...topicBodySchema.properties.externalId,
      description: "Continue the drift after this external id, the `next` of the previous response.",
    },
  },
} as const;

export type TopicSetQuery = FromSchema<typeof topicSetQuerySchema>;

export const topicSetListSchema = {
  $id: "topic-set-list",
  type: "object",
  additionalProperties: false,
  required: ["sets"],
  properties: { sets: { type: "array", items: set } },
} as const;

export const databaseSchema = {
  $id: "database",
  type: "object",
  additionalProperties: false,
  required: ["id", "version"],
  properties: {
    id: { ...text, description: "The UUID of the database, which plans name." },
    version: { ...text, description: "The version of topicsync." },
  },
} as const;

/** A topic as plans see it. */
const known = {
  type: "object",
  additionalProperties: false,
  required: ["externalId", "topic", "details"],
  properties: {
    externalId: text,
    topic: {
      description: "Null if no active topic has the external id.",
      oneOf: [
        { type: "null" },
        {
          type: "object",
          additionalProperties: false,
          required: [
            "id",
            "version",
            "name",
            "namespace",
            "headerQuery",
            "contentQuery",
            "source",
            "updatedOn",
          ],
          properties: {
            id: { ...text, description: "The sys_id." },
            version: { type: "integer", minimum: 1 },
            name: text,
            namespace: text,
            headerQuery: text,
            contentQuery: text,
            source: sourceSchema,
            updatedOn: time,
          },
        },
      ],
    },
    details: {
      description: "Null if it was never described, and belongs to no set.",
      oneOf: [{ type: "null" }, topicDetailsSchema],
    },
  },
} as const;

export type KnownTopicView = FromSchema<typeof known>;

export const maxLookUpIds = 500;
export const maxLookUpDefinitions = 50;

export const topicLookUpSchema = {
  $id: "topic-look-up",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    set: { ...setNameSchema, description: "Find the topics of this set, a page at a time." },
    after: { ...topicBodySchema.properties.externalId, description: "The `next` of the previous page." },
    externalIds: {
      type: "array",
      maxItems: maxLookUpIds,
      items: topicBodySchema.properties.externalId,
      description: "External ids of topics to find.",
    },
    definitions: {
      type: "array",
      maxItems: maxLookUpDefinitions,
      items: {
        type: "object",
        additionalProperties: false,
        required: topicBodySchema.required,
        properties: topicBodySchema.properties,
      },
      description: "Definitions to find the holders of their combinations, and warnings, for.",
    },
  },
} as const;

export type TopicLookUp = FromSchema<typeof topicLookUpSchema>;

export const topicLookUpReplySchema = {
  $id: "topic-look-up-reply",
  type: "object",
  additionalProperties: false,
  required: ["topics", "next", "holders", "warnings"],
  properties: {
    topics: {
      type: "array",
      items: known,
      description: "A page of the topics of `set`, and those of `externalIds` that are known.",
    },
    next: { type: ["string", "null"], description: "The `after` of the next page; null on the last page." },
    holders: {
      type: "array",
      description: "Topics that hold the combinations of `definitions`, and perhaps others.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["externalId", "name", "namespace", "headerQuery", "contentQuery"],
        properties: { externalId: text, name: text, namespace: text, headerQuery: text, contentQuery: text },
      },
    },
    warnings: {
      type: "array",
      description: "For each of `definitions`: conditions that none of the last events meets.",
      items: topicCheckSchema.properties.warnings,
    },
  },
} as const;

export type TopicLookUpReply = FromSchema<typeof topicLookUpReplySchema>;

/** What a path names when it may create a set. */
export const topicSetNameSchema = {
  $id: "topic-set-name",
  type: "object",
  additionalProperties: false,
  required: ["name"],
  properties: { name: setNameSchema },
} as const;

/** A batch of a plan: all of its changes are made, or none. */
export const setChangesSchema = {
  $id: "topic-set-changes",
  type: "object",
  additionalProperties: false,
  required: ["database", "plan", "total", "changes"],
  properties: {
    database: { ...text, description: "The UUID of the database that the plan is for." },
    origin: { type: "string", format: "text", maxLength: 1_000 },
    revision: { type: "string", format: "text", maxLength: 200 },
    plan: {
      type: "string",
      pattern: "^[0-9a-f]{16}$",
      description: "The first digits of the digest of the plan.",
    },
    total: { ...count, description: "The number of changes in the plan." },
    changes: { type: "array", minItems: 1, maxItems: 500, items: planChangeSchema },
  },
} as const;

export type SetChanges = FromSchema<typeof setChangesSchema>;

export const setChangesReplySchema = {
  $id: "topic-set-changes-reply",
  type: "object",
  additionalProperties: false,
  required: ["applied"],
  properties: {
    applied: { ...count, description: "The number of changes that were made; the others were made before." },
  },
} as const;

/** The query parameter of operations that change a topic by itself. */
export const forceQuerySchema = {
  $id: "force-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    force: {
      ...trueOrFalse,
      default: false,
      description: "Change a topic although it belongs to a set, whose next apply may change it back.",
    },
  },
} as const;

export type ForceQuery = FromSchema<typeof forceQuerySchema>;
