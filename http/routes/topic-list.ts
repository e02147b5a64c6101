import {
  topicListSchema,
  topicQuerySchema,
  type TopicList,
  type TopicQueryTexts,
} from "../../schemas/topic-list.ts";
import { topicDetailSchema } from "../../schemas/topic-view.ts";
import { RefusalError } from "../../src/lib/errors.ts";
import type { TopicListing } from "../../src/topics/listing.ts";
import { toTopicDetail, toTopicView } from "../../src/topics/topic-view.ts";
import { roles } from "../../src/users/user.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { HttpError } from "../framework/errors.ts";
import { operation, type Operation } from "../framework/operation.ts";

const checkQuery = createValidator<TopicQueryTexts>(topicQuerySchema, { defaults: true });

const noStore = { "Cache-Control": "no-store" } as const;

/** `GET /api/topicsync/v1/topics[/{id}]`: the topics, page by page, and everything about one. */
export const topicListOperations = (listing: TopicListing): readonly Operation[] => [
  operation({
    id: "listTopics",
    method: "GET",
    paths: ["/api/topicsync/v1/topics"],
    access: roles.eventManagement,
    tag: "topics",
    summary: "List topics",
    description:
      "Returns one page at a time. A topic created, changed or retired while you page may be on a later page or on none.",
    query: Object.entries(topicQuerySchema.properties).map(([name, { description, ...schema }]) => ({
      name,
      description,
      schema,
    })),
    replies: { 200: { description: "A page of topics.", schema: topicListSchema } },
    refusals: ["SCHEMA_VIOLATION"],
    async handle({ query }) {
      const { state, sort, search, namespace, source, limit, after } = checked(query);
      const page = await listing.page(
        { state, way: sort, search, namespace, source },
        { after, limit: Number(limit) },
      );
      const json: TopicList = { topics: page.topics.map(toTopicView), next: page.next ?? null };
      return { status: 200, json, headers: noStore };
    },
  }),
  operation({
    id: "getTopic",
    method: "GET",
    paths: ["/api/topicsync/v1/topics/{id}"],
    access: roles.eventManagement,
    tag: "topics",
    summary: "Get a topic",
    description:
      "Its definition, an explanation of its filters, its source, and its earlier versions. For a retired topic, its last version.",
    parameters: {
      id: "External id of the topic, or the sys_id of an active topic. An external id takes precedence.",
    },
    replies: { 200: { description: "The topic.", schema: topicDetailSchema } },
    refusals: ["NOT_FOUND"],
    async handle({ parameters: { id = "" } }) {
      const shown = await listing.find(id);
      if (shown === undefined) throw new HttpError("NOT_FOUND", `There is no topic "${id}".`);
      return { status: 200, json: toTopicDetail(shown), headers: noStore };
    },
  }),
];

function checked(query: Readonly<Record<string, unknown>>): TopicQueryTexts {
  const found = checkQuery({ ...query });
  const faults = found.ok ? sortFaults(found.value) : found.faults;
  if (found.ok && faults.length === 0) return found.value;
  throw new RefusalError("SCHEMA_VIOLATION", "The query is not what this operation takes.", faults);
}

function sortFaults({ state, sort, search }: TopicQueryTexts) {
  if (sort === undefined) return [];
  if (state !== "stored") return [{ path: "/sort", message: `does not go with state=${state}` }];
  return search === undefined ? [] : [{ path: "/sort", message: "does not go with search" }];
}
