import type { FromSchema } from "json-schema-to-ts";

import { topicViewSchema } from "./topic-view.ts";

const name = { type: "string", format: "text", minLength: 1 } as const;

/** The orders of stored topics that an index has; from the last to the first with a minus sign. */
const sorts = ["externalId", "-externalId", "name", "-name", "changed", "-changed"] as const;

/** The query of `GET /api/topicsync/v1/topics`: texts, as they stand in a URL. */
export const topicQuerySchema = {
  $id: "topic-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    state: {
      enum: ["stored", "retired", "disabled"],
      default: "stored",
      description:
        "The stored topics; those that the channel retired and that did not come back, the last first; those that a user disabled, likewise.",
    },
    sort: {
      enum: sorts,
      description:
        "The order of stored topics, `externalId` by default. Not with `search`, and not for retired and disabled ones, which have an order of their own.",
    },
    search: {
      ...name,
      maxLength: 1_000,
      description:
        "Only those whose external id begins with this text, in that order, and then those whose name does (of retired and disabled ones the external id only). Upper and lower case are different.",
    },
    namespace: {
      type: "string",
      format: "text",
      description: "Only those of this namespace; empty for those without one.",
    },
    source: {
      enum: ["http", "announcement"],
      description: "Only those that were made over HTTP or on the command line, or only announced ones.",
    },
    limit: {
      type: "string",
      pattern: "^[1-9][0-9]{0,2}$",
      expected: "a whole number from 1 to 999",
      default: "50",
      description: "How many topics a page has at most, 1 to 999.",
    },
    after: {
      ...name,
      maxLength: 1_000,
      description: "The page behind this cursor: the `next` of the one before.",
    },
  },
} as const;

/** The query; `FromSchema` takes a member with a default for one that is always there. */
export type TopicQueryTexts = FromSchema<typeof topicQuerySchema>;

/** The answer to it. */
export const topicListSchema = {
  $id: "topic-list",
  type: "object",
  additionalProperties: false,
  required: ["topics", "next"],
  properties: {
    topics: { type: "array", items: topicViewSchema },
    next: {
      type: ["string", "null"],
      description:
        "Where the next page begins; null behind the last. A page may be short, or empty, and still have one: the search for it is bounded in time.",
    },
  },
} as const;

export type TopicList = FromSchema<typeof topicListSchema>;
