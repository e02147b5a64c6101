import type { FromSchema } from "json-schema-to-ts";

import { lifecycles, topicDetailsMembers } from "./details.ts";
import { definitionSchema } from "./topic.ts";
import { list, named, object, partial } from "../shapes.ts";

const { name, externalId, namespace, headerQuery, contentQuery } = definitionSchema.properties;

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
  ...named("topic-entry", {
    externalId,
    "name?": name,
    "renamedFrom?": { ...externalId, description: "The external id that the topic had before." },
    ...partial(common),
  }),
  dependentRequired: {
    renamedFrom: ["name"],
    namespace: ["name"],
    headerQuery: ["name"],
    contentQuery: ["name"],
  },
} as const;

export type TopicEntry = FromSchema<typeof topicEntrySchema>;

const file = object({
  "set?": { ...setNameSchema, description: "The set that the topics belong to." },
  "defaults?": {
    ...object(partial(common)),
    description: "Members of all topics of the file that do not have them.",
  },
  topics: { type: "array" },
});

/** A file without its topics, which are validated one by one. */
export const topicFileHeaderSchema = { ...file, $id: "topic-file-header" } as const;

export type TopicFileHeader = FromSchema<typeof topicFileHeaderSchema>;

/** A YAML or JSON file of topics. A line of an NDJSON file is one entry of `topics`. */
export const topicFileSchema = {
  ...file,
  $id: "topic-file",
  properties: { ...file.properties, topics: list(topicEntrySchema) },
} as const;
