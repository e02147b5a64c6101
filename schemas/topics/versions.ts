import type { FromSchema } from "json-schema-to-ts";

import { pageCursor, pageSize } from "../query.ts";
import { sourceSchema } from "./view.ts";

const text = { type: "string" } as const;
const time = { type: "string", format: "date-time" } as const;

/** The query parameters of `GET /api/topicsync/v1/topics/{id}`. */
export const topicAtQuerySchema = {
  $id: "topic-at-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    version: {
      type: "integer",
      minimum: 1,
      expected: "a whole number, 1 or more",
      description: "An earlier version of the topic.",
    },
    at: {
      ...time,
      description: "The topic and its details as they were at this time. Cannot be combined with `version`.",
    },
  },
} as const;

export type TopicAtQuery = FromSchema<typeof topicAtQuerySchema>;

/** The query parameters of `GET /api/topicsync/v1/topics/{id}/versions`. */
export const versionQuerySchema = {
  $id: "topic-version-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    limit: pageSize(999, 50),
    after: pageCursor,
  },
} as const;

export type VersionQuery = FromSchema<typeof versionQuerySchema>;

export const versionEnds = ["changed", "renamed", "adopted", "retired", "disabled"] as const;

const versionSchema = {
  type: "object",
  additionalProperties: false,
  required: [
    ...["externalId", "name", "namespace", "headerQuery", "contentQuery", "id", "version", "source"],
    ...["validFrom", "transient"],
  ],
  properties: {
    externalId: text,
    name: text,
    namespace: text,
    headerQuery: text,
    contentQuery: text,
    id: { ...text, description: "The sys_id." },
    version: { type: "integer", minimum: 1 },
    source: sourceSchema,
    validFrom: time,
    validTo: { ...time, description: "Absent for the current version." },
    endedBy: sourceSchema,
    endedAs: {
      enum: versionEnds,
      description:
        "How the version ended. `adopted`: the channel announced the same definition. `retired`: by a tombstone. `disabled`: by a user.",
    },
    transient: {
      type: "boolean",
      description: "Whether it was never visible, since the batch that stored it replaced it.",
    },
  },
} as const;

export const describedMembers = [
  ...["externalId", "namespace", "owner", "description", "contact", "tags", "labels", "lifecycle", "sunset"],
  ...["replacedBy", "consumers", "protected", "set", "path"],
] as const;

const descriptionSchema = {
  type: "object",
  description: "A version of the details, which are numbered apart from the definitions.",
  additionalProperties: false,
  required: ["action", "externalId", "version", "changedOn", "changedBy", "changes"],
  properties: {
    action: { const: "described" },
    externalId: text,
    version: { type: "integer", minimum: 1 },
    changedOn: time,
    changedBy: { ...text, description: "The user; `cli:NAME` on the command line." },
    changes: {
      type: ["array", "null"],
      description:
        "What became different; null if the details before are not kept any more, or not to be seen by the caller.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["member", "from", "to"],
        properties: { member: { enum: describedMembers }, from: {}, to: {} },
      },
    },
  },
} as const;

export const versionListSchema = {
  $id: "topic-version-list",
  type: "object",
  additionalProperties: false,
  required: ["versions", "next"],
  properties: {
    versions: { type: "array", items: { oneOf: [versionSchema, descriptionSchema] } },
    next: { type: ["string", "null"], description: "The cursor of the next page; null on the last page." },
  },
} as const;

export type VersionView = FromSchema<typeof versionSchema>;
export type DescriptionView = FromSchema<typeof descriptionSchema>;
export type VersionList = FromSchema<typeof versionListSchema>;

/** The body of `POST /api/topicsync/v1/topics/{id}/restore`. */
export const restoreBodySchema = {
  $id: "topic-restore",
  type: "object",
  additionalProperties: false,
  required: ["version"],
  properties: {
    version: { type: "integer", minimum: 1, description: "The version whose definition is stored again." },
  },
  examples: [{ version: 3 }],
} as const;

export type RestoreBody = FromSchema<typeof restoreBodySchema>;
