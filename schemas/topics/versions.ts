import type { FromSchema } from "json-schema-to-ts";

import { definitionMembers } from "./topic.ts";
import { sourceSchema } from "./view.ts";
import { page, query } from "../query.ts";
import { flag, list, named, nullableText, object, positive, text, time } from "../shapes.ts";

/** The query parameters of `GET /api/topicsync/v1/topics/{id}`. */
export const topicAtQuerySchema = query("topic-at-query", {
  version: {
    type: "integer",
    minimum: 1,
    expected: "a whole number, 1 or more",
    description: "An earlier version of the topic.",
  },
  at: time("The topic and its details as they were at this time. Cannot be combined with `version`."),
});

export type TopicAtQuery = FromSchema<typeof topicAtQuerySchema>;

/** The query parameters of `GET /api/topicsync/v1/topics/{id}/versions`. */
export const versionQuerySchema = query("topic-version-query", {
  ...page(999, 50),
});

export type VersionQuery = FromSchema<typeof versionQuerySchema>;

export const versionEnds = ["changed", "renamed", "adopted", "retired", "disabled"] as const;

const versionSchema = object({
  externalId: text(),
  ...definitionMembers,
  id: text("The sys_id."),
  version: positive(),
  source: sourceSchema,
  validFrom: time(),
  "validTo?": time("Absent for the current version."),
  "endedBy?": sourceSchema,
  "endedAs?": {
    enum: versionEnds,
    description:
      "How the version ended. `adopted`: the channel announced the same definition. `retired`: by a tombstone. `disabled`: by a user.",
  },
  transient: flag("Whether it was never visible, since the batch that stored it replaced it."),
});

export const describedMembers = [
  ...["externalId", "namespace", "owner", "description", "contact", "tags", "labels", "lifecycle", "sunset"],
  ...["replacedBy", "consumers", "protected", "set", "path"],
] as const;

const descriptionSchema = object("A version of the details, which are numbered apart from the definitions.", {
  action: { const: "described" },
  externalId: text(),
  version: positive(),
  changedOn: time(),
  changedBy: text("The user; `cli:NAME` on the command line."),
  changes: {
    type: ["array", "null"],
    description:
      "What became different; null if the details before are not kept any more, or not to be seen by the caller.",
    items: object({ member: { enum: describedMembers }, from: {}, to: {} }),
  },
});

export const versionListSchema = named("topic-version-list", {
  versions: list({ oneOf: [versionSchema, descriptionSchema] }),
  next: nullableText("The cursor of the next page; null on the last page."),
});

export type VersionView = FromSchema<typeof versionSchema>;
export type DescriptionView = FromSchema<typeof descriptionSchema>;
export type VersionList = FromSchema<typeof versionListSchema>;

/** The body of `POST /api/topicsync/v1/topics/{id}/restore`. */
export const restoreBodySchema = {
  ...named("topic-restore", {
    version: positive("The version whose definition is stored again."),
  }),
  examples: [{ version: 3 }],
} as const;

export type RestoreBody = FromSchema<typeof restoreBodySchema>;
