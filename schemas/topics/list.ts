import type { FromSchema } from "json-schema-to-ts";

import { lifecycles } from "./details.ts";
import { countingSchema, durationPattern, durationRule } from "./usage.ts";
import { topicStates, topicViewSchema } from "./view.ts";
import { page, query } from "../query.ts";
import { input, limited, list, named, nullableText, time } from "../shapes.ts";

/** The orders of active topics; a minus sign reverses one. */
const sorts = ["externalId", "-externalId", "name", "-name", "changed", "-changed"] as const;

/** The query parameters of `GET /api/topicsync/v1/topics`. */
export const topicQuerySchema = query("topic-query", {
  state: {
    enum: topicStates,
    default: "active",
    description:
      "`active` topics; topics `retired` by a tombstone; or topics `disabled` by a user. Retired and disabled topics that became active again are not listed.",
  },
  sort: {
    enum: sorts,
    description:
      "The order of active topics; `externalId` by default. Cannot be combined with `search` or conditions on details. Retired and disabled topics are always sorted by time, newest first.",
  },
  search: limited(
    1_000,
    "Only topics whose external id begins with this text, followed by active topics whose name does. Case-sensitive.",
  ),
  q: limited(
    200,
    "Only topics with details in which all of these words occur, the last one as a prefix: in the external id, name, owner, tags or description. Without other conditions on details, followed by those that `search` finds with this text.",
  ),
  externalId: limited(1_000, "Only the topic with this external id, or those that had it."),
  name: limited(1_000, "Only topics with this name; `Critical*` for names that begin with Critical."),
  owner: limited(200, "Only topics with this owner."),
  tag: limited(50, "Only topics with this tag."),
  label: {
    ...input(),
    maxLength: 201,
    pattern: "^[^=]+=",
    expected: "a name and a value, such as cost-center=4711",
    description: "Only topics with this label, as `name=value`.",
  },
  lifecycle: { enum: lifecycles, description: "Only topics with details that have this lifecycle." },
  set: limited(200, "Only topics that this set owns."),
  namespace: input(
    "Only topics in this namespace; empty for topics without one. `network.*` also finds those in the namespaces below it, such as `network.core`.",
  ),
  source: {
    enum: ["http", "announcement"],
    description:
      "Only topics that were created over HTTP or on the command line (`http`), or only topics that were announced.",
  },
  at: time(
    "The topics that were active at this time, as they were. Cannot be combined with `sort`, `search`, `unusedFor` and conditions on details other than `set`.",
  ),
  unusedFor: {
    type: "string",
    pattern: durationPattern,
    expected: durationRule,
    description:
      "Only active topics that existed for all of this time (`30d`, `12h`, `45m`) and for which the router counted no event in it; none if events have not been counted for that long (`counted`). A page can be empty although there are more.",
  },
  ...page(999, 50),
});

/** The validated query. `FromSchema` treats a member with a default as always present. */
export type TopicListQuery = FromSchema<typeof topicQuerySchema>;

export const topicListSchema = named("topic-list", {
  topics: list(topicViewSchema),
  next: nullableText("The cursor of the next page; null on the last page."),
  "counted?": { ...countingSchema, description: `${countingSchema.description} Only with \`unusedFor\`.` },
});

export type TopicList = FromSchema<typeof topicListSchema>;
