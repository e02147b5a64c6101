import type { FromSchema } from "json-schema-to-ts";

import { topicDetailsSchema } from "./details.ts";
import { definitionMembers } from "./topic.ts";
import { integer, limited, list, named, object, orNull, positive, text, time } from "../shapes.ts";

/**
 * Active topics match events. `retired`: by a tombstone of the channel. `disabled`: by a user, who can enable
 * it again.
 */
export const topicStates = ["active", "retired", "disabled"] as const;

/** What the apply of a plan says about itself. */
export const changeLabelSchema = object("The plan that the change was part of.", {
  set: limited(100, "The set of topics."),
  "revision?": limited(200, "The revision of the files, such as a commit."),
  plan: limited(100, "The id of the plan."),
});

/** What created or changed a topic: a user, or a record of the announcements topic. */
export const sourceSchema = {
  oneOf: [
    object({
      kind: { const: "http" },
      user: text("The user; `cli:NAME` on the command line."),
      "change?": changeLabelSchema,
    }),
    object({
      kind: { const: "announcement" },
      topic: text(),
      partition: integer(),
      offset: integer(),
      "epoch?": integer(
        "The epoch of the partition's log: absent for the first, 2 after the Kafka topic was deleted and created again.",
      ),
    }),
  ],
} as const;

export type SourceView = FromSchema<typeof sourceSchema>;

const topicMembers = {
  externalId: text(),
  ...definitionMembers,
  id: text("The sys_id."),
  version: positive("Grows by one with each change, also when the topic is adopted, renamed or enabled."),
  state: {
    enum: topicStates,
    description: "`retired`: by a tombstone. `disabled`: by a user, who can enable the topic again.",
  },
  source: sourceSchema,
  createdOn: time(),
  updatedOn: time(),
  "lastEventOn?": time(
    "When the router counted its last event, up to ten minutes late; absent if none was counted.",
  ),
  "events?": positive("How many events the router has counted, an estimate; absent if none was counted."),
  "egressTopic?": text("The Kafka topic that its events are forwarded to; absent without a router."),
  "egressFault?": text("Why no events can be forwarded to `egressTopic`; absent if they can."),
  "retiredOn?": time(),
  "retiredBy?": sourceSchema,
  "previous?": object("The definition before the last change; absent if it never changed.", {
    ...definitionMembers,
    source: sourceSchema,
    updatedOn: time(),
  }),
} as const;

/** A topic in a list. */
export const topicViewSchema = object({ ...topicMembers, "details?": topicDetailsSchema });

export type TopicView = FromSchema<typeof topicViewSchema>;

const filterInWords = object({
  conditions: list(
    text(),
    "The conditions in words; an event must meet all of them. Empty for a filter that matches every event.",
  ),
  notes: list(text(), "How the values are compared."),
  fault: {
    description: "Why the filter is invalid, so that no event belongs to the topic; null if it is valid.",
    oneOf: orNull({
      message: text(),
      position: integer("In UTF-16 code units, from 0."),
    }),
  },
});

/** A topic with its details, and its filters in words. */
export const topicDetailSchema = named("topic-detail", {
  ...topicMembers,
  "replaced?": object("How this version was replaced; absent for the current or last one.", {
    on: time(),
    by: sourceSchema,
    as: { enum: ["changed", "renamed", "adopted"] },
  }),
  details: topicDetailsSchema,
  filters: object("The two filters in words.", { headerQuery: filterInWords, contentQuery: filterInWords }),
});

export type TopicDetail = FromSchema<typeof topicDetailSchema>;
