import type { FromSchema } from "json-schema-to-ts";

import { lifecycles, topicDetailsMembers } from "./details.ts";
import { topicBodySchema } from "./topic.ts";

const { name, externalId, namespace, headerQuery, contentQuery } = topicBodySchema.properties;

/** The name of a set of topics. */
export const setNameSchema = {
  type: "string",
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
  expected: "1 to 100 letters, digits, dots, hyphens and underscores",
} as const;

/** What `defaults` may set for all topics of a file. */
const common = {
  namespace: { ...namespace, type: "string" },
  headerQuery: { ...headerQuery, type: "string" },
  contentQuery: { ...contentQuery, type: "string" },
  ...topicDetailsMembers,
  lifecycle: {
    enum: ["draft", ...lifecycles],
    description: "A `draft` is checked, but not stored. Default: `active`.",
  },
} as const;

/** A topic in a file: with a definition if it has a name, else only the details of an announced topic. */
export const topicEntrySchema = {
  $id: "topic-entry",
  type: "object",
  additionalProperties: false,
  required: ["externalId"],
  dependentRequired: {
    renamedFrom: ["name"],
    namespace: ["name"],
    headerQuery: ["name"],
    contentQuery: ["name"],
  },
  properties: {
    externalId,
    name,
    renamedFrom: { ...externalId, description: "The external id that the topic had before." },
    ...common,
  },
} as const;

export type TopicEntry = FromSchema<typeof topicEntrySchema>;

const defaults = {
  type: "object",
  additionalProperties: false,
  properties: common,
  description: "Members of all topics of the file that do not have them.",
} as const;

const file = {
  type: "object",
  additionalProperties: false,
  required: ["topics"],
  properties: {
    set: { ...setNameSchema, description: "The set that the topics belong to." },
    defaults,
    topics: { type: "array" },
  },
} as const;

/** A file without its topics, which are validated one by one. */
export const topicFileHeaderSchema = { ...file, $id: "topic-file-header" } as const;

export type TopicFileHeader = FromSchema<typeof topicFileHeaderSchema>;

/** A YAML or JSON file of topics. A line of an NDJSON file is one entry of `topics`. */
export const topicFileSchema = {
  ...file,
  $id: "topic-file",
  properties: { ...file.properties, topics: { type: "array", items: topicEntrySchema } },
} as const;
