import type { FromSchema } from "json-schema-to-ts";

import { maxTopicTextCharacters } from "./topic.ts";
import {
  flag,
  input,
  integer,
  named,
  nullableText,
  nullableTime,
  object,
  orNull,
  partial,
  text,
  time,
} from "../shapes.ts";

const shortText = { ...input(), maxLength: 200 } as const;

export const lifecycles = ["active", "deprecated"] as const;
export type TopicLifecycle = (typeof lifecycles)[number];

/** As in Backstage's catalogue, like the names and values of labels. */
const tag = {
  type: "string",
  maxLength: 50,
  pattern: "^[a-z0-9:+#]+(?:-[a-z0-9:+#]+)*$",
  expected: "lower-case letters, digits, and : + #, with single hyphens between them, such as network-core",
} as const;

const labelName = {
  pattern: "^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9])?$",
  expected: "1 to 100 letters, digits, and . _ / - inside, such as cost-center",
} as const;

const labelValue = {
  type: "string",
  pattern: "^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?)?$",
  expected: "at most 100 letters, digits, and . _ - inside",
} as const;

/** What teams say about a topic: all members of the body, which replaces what was said before. */
export const topicDetailsMembers = {
  owner: { ...shortText, description: "The team or user that is responsible for the topic." },
  description: { ...input(), maxLength: 2_000, description: "What the topic is for." },
  contact: { ...shortText, description: "How to reach the owner: an address, a channel or a page." },
  tags: {
    type: "array",
    items: tag,
    maxItems: 20,
    description: "Words to find the topic by, in lower case.",
  },
  labels: {
    type: "object",
    maxProperties: 20,
    propertyNames: labelName,
    additionalProperties: labelValue,
    description: "Names with values, to find the topic by.",
  },
  lifecycle: { enum: lifecycles, description: "Whether the topic is to be used. Default: `active`." },
  sunset: {
    type: ["string", "null"],
    format: "date",
    description: "The day from which on the topic may be gone.",
  },
  replacedBy: {
    ...input(),
    maxLength: maxTopicTextCharacters,
    description: "The external id of the active topic to use instead.",
  },
  consumers: {
    type: "array",
    maxItems: 50,
    items: object({
      name: { ...shortText, minLength: 1, description: "The name of the consumer; no two have the same." },
      "contact?": { ...shortText, description: "How to reach its team." },
    }),
    description: "Who declares to read the topic's events.",
  },
  protected: flag("Whether a plan that disables the topic is rejected. Default: false."),
} as const;

/** The body of `PUT /api/topicsync/v1/topics/{externalId}/details`. */
export const topicDetailsBodySchema = {
  ...named("topic-details-body", partial(topicDetailsMembers)),
  examples: [
    {
      owner: "team-noc",
      description: "Wakes the network operations centre.",
      contact: "noc@example.org",
      tags: ["network", "p1"],
      labels: { "cost-center": "4711" },
      consumers: [{ name: "noc-dashboard", contact: "dashboards@example.org" }],
    },
  ],
} as const;

export type TopicDetailsBody = FromSchema<typeof topicDetailsBodySchema>;

/** The details of a topic in responses: every member of the body, and what the service adds. */
export const topicDetailsSchema = object(
  "What teams say about the topic, as of `version`; they survive it. Callers without a right to the namespace in which they were written see the version only.",
  {
    ...topicDetailsMembers,
    version: integer("0 if the topic was never described."),
    set: nullableText("The set of definitions that owns the topic."),
    path: nullableText("The file of the set that defines the topic."),
    applied: {
      description: "What the last apply of the set stored.",
      oneOf: orNull({
        version: integer("The version of the topic."),
        digest: text(),
        plan: text(),
        on: time(),
        "externalId?": text("The external id that it had then; absent unless the topic was renamed since."),
      }),
    },
    changedOn: nullableTime(),
    changedBy: text("The user; `cli:NAME` on the command line."),
  },
);

export type TopicDetailsView = FromSchema<typeof topicDetailsSchema>;
