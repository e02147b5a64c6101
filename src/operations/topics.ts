import {
  topicCheckSchema,
  topicDraftSchema,
  type TopicCheck,
  type TopicDraft,
} from "../../schemas/topics/check.ts";
import {
  topicListSchema,
  topicQuerySchema,
  type TopicList,
  type TopicListQuery,
} from "../../schemas/topics/list.ts";
import { topicDetailSchema } from "../../schemas/topics/view.ts";
import {
  topicBodySchema,
  topicResponseSchema,
  type TopicBody,
  type TopicResponse,
} from "../../schemas/topics/topic.ts";
import { changeTopic } from "../topics/changing.ts";
import { readPageAt, toDetailsAt } from "../topics/history.ts";
import { addDetails } from "../topics/details/search.ts";
import { readTopicPage } from "../topics/topic-pages.ts";
import { toTopicView } from "../topics/topic-view.ts";
import { addUsage, selectUnused } from "../topics/usage.ts";
import { checkTopicBody, externalIdFault, toDefinition } from "../topics/topic.ts";
import { bodyRules } from "./framework/body.ts";
import { requireNamespace } from "./framework/errors.ts";
import { operation, versioned, type Operation } from "./framework/operation.ts";
import { queryRules } from "./framework/query.ts";
import { parseTopicQuery } from "./topic-query.ts";
import {
  findExternalId,
  findTakenId,
  requireFreeIds,
  forceRules,
  hidePrevious,
  readingTopics,
  requireStorable,
  replyWithTopic,
  showEgress,
  requireUnmanagedFor,
  toChangeOptions,
  writingTopics,
} from "./topic-rules.ts";
import { findWarningHeaders, findWarnings } from "./topic-warnings.ts";

export const createTopic = operation({
  ...writingTopics,
  id: "createTopic",
  method: "POST",
  // Under the neutral path segment and under the specification's own.
  paths: [
    ...versioned("/api/svc_api_notif_mgmt", "/topic"),
    ...versioned("/api/sn_api_notif_mgmt", "/topic"),
  ],
  summary: "Create a topic",
  description: "Creates an event topic with the filters that select its events.",
  body: bodyRules<TopicBody>(topicBodySchema),
  replies: {
    201: { description: "The topic is created.", schema: topicResponseSchema, hasWarnings: true },
  },
  rejections: ["BAD_FILTER", "BAD_EGRESS_NAME", "DUPLICATE_EXTERNAL_ID", "DUPLICATE_COMBINATION"],
  async handle({ body, user, namespaces }, { topics, topicReader, egressNaming, eventTypes }) {
    const definition = toDefinition(body);
    requireStorable({ user, namespaces }, egressNaming, definition);
    await requireFreeIds(topicReader, [body.externalId]);
    const { topic, event } = await topics.create(body, user.name);
    const headers = await findWarningHeaders({ eventTypes }, user, definition);
    const { contentQuery, externalId, headerQuery, id, name, namespace } = topic;
    const json: TopicResponse = { contentQuery, externalId, headerQuery, id, name, namespace };
    return { status: 201, json, headers, audit: event };
  },
});

export const listTopics = operation({
  ...readingTopics,
  id: "listTopics",
  method: "GET",
  paths: ["/api/topicsync/v1/topics"],
  summary: "List topics",
  description:
    "Returns one page at a time, which may have fewer topics than `limit`, also if there is a next page. A topic created, changed or retired while you page may be on a later page or on none.",
  query: queryRules<TopicListQuery>(topicQuerySchema),
  replies: { 200: { description: "A page of topics.", schema: topicListSchema } },
  async handle({ query, namespaces }, sources) {
    const { topicDetails, topicHistory, topicUsage, egressNaming } = sources;
    const { page: from, unusedFor, at, ...parsed } = parseTopicQuery(query);
    if (at !== undefined) {
      const { versions, next = null } = await readPageAt(topicHistory, at, { ...parsed, namespaces }, from);
      const past = versions.map(({ topic }) => hidePrevious({ topic }, namespaces));
      const described = await addDetails(toDetailsAt(topicHistory, at), past, namespaces);
      const topics = described
        .map(toTopicView)
        .filter(({ details }) => query.set === undefined || details?.set === query.set);
      return { status: 200, json: { topics, next } satisfies TopicList };
    }
    const unused = unusedFor === undefined ? undefined : await selectUnused(topicUsage, unusedFor);
    const page = await readTopicPage(sources, { ...parsed, namespaces, select: unused?.select }, from);
    const listed = await addDetails(topicDetails, page.topics, namespaces);
    const shown = unused === undefined ? await addUsage(topicUsage, listed) : listed;
    const topics = shown.map((one) => ({
      ...toTopicView(hidePrevious(one, namespaces)),
      ...showEgress(egressNaming, one),
    }));
    const json: TopicList = { topics, next: page.next ?? null };
    return { status: 200, json: { ...json, ...(unused && { counted: unused.counted }) } };
  },
});

const validateTopic = operation({
  ...writingTopics,
  id: "checkTopic",
  method: "POST",
  paths: ["/api/topicsync/v1/topic-check"],
  summary: "Validate a topic definition",
  description:
    "Lists every problem that creating the topic would report, including unique values already in use, and conditions that none of the last events meets (with the right `topics.read` for all namespaces). Incomplete definitions are allowed. Read-only.",
  body: bodyRules<TopicDraft>(topicDraftSchema),
  replies: { 200: { description: "The problems found.", schema: topicCheckSchema } },
  async handle({ body, user, namespaces }, { topics, topicReader, eventTypes }) {
    requireNamespace({ user, namespaces }, "topics.write", body.namespace ?? "");
    const draft = { ...body, name: body.name ?? "", externalId: body.externalId ?? "" };
    const checked = checkTopicBody(draft);
    const definition = toDefinition(draft);
    const [found, takenId, warnings] = await Promise.all([
      topics.check(definition),
      findTakenId(topicReader, [definition.externalId]),
      findWarnings({ eventTypes }, user, { definition }),
    ]);
    const taken = takenId === undefined || found.includes(externalIdFault) ? [] : [externalIdFault];
    const faults = [...(checked.ok ? [] : checked.faults), ...found, ...taken];
    const json: TopicCheck = { faults: faults.map(({ path, message }) => ({ path, message })), warnings };
    return { status: 200, json };
  },
});

export const disableTopic = operation({
  ...writingTopics,
  id: "disableTopic",
  method: "POST",
  paths: ["/api/topicsync/v1/topics/{externalId}/disable"],
  summary: "Disable a topic",
  description:
    "Events no longer match it, and its unique values become available. Topics created by an announcement cannot be disabled.",
  parameters: { externalId: "External id of the topic, or its sys_id." },
  replies: { 200: { description: "The topic is disabled.", schema: topicDetailSchema, hasEtag: true } },
  query: forceRules,
  rejections: ["NOT_FOUND", "EXTERNAL_ID_TAKEN", "MANAGED_BY_SET"],
  async handle(call, services) {
    const externalId = await findExternalId(call, services);
    const mark = await requireUnmanagedFor(call, services.topicDetails, [externalId]);
    const change = { kind: "disable", externalId } as const;
    const { topic, events } = await changeTopic(services.topics, change, toChangeOptions(call));
    const found = await services.topicReader.find(externalId);
    const shown = found?.topic.id === topic.id ? found : { topic };
    return { ...(await replyWithTopic(services, shown, call.namespaces)), audit: events.map(mark) };
  },
});

export const enableTopic = operation({
  ...writingTopics,
  id: "enableTopic",
  method: "POST",
  paths: ["/api/topicsync/v1/topics/{externalId}/enable"],
  summary: "Enable a topic",
  description: "Restores the topic last disabled under this external id, with its original sys_id.",
  parameters: { externalId: "External id of the topic, or its sys_id." },
  replies: { 200: { description: "The topic is active.", schema: topicDetailSchema, hasEtag: true } },
  rejections: [
    "NOT_FOUND",
    "EXTERNAL_ID_TAKEN",
    "BAD_FILTER",
    "DUPLICATE_EXTERNAL_ID",
    "DUPLICATE_COMBINATION",
  ],
  async handle(call, services) {
    const change = { kind: "enable", externalId: await findExternalId(call, services) } as const;
    const { topic, events } = await changeTopic(services.topics, change, toChangeOptions(call));
    return { ...(await replyWithTopic(services, { topic }, call.namespaces)), audit: events };
  },
});

/** Operations that create (specification 4.3), list, validate, disable and enable topics. */
export const topicOperations: readonly Operation[] = [
  createTopic,
  listTopics,
  validateTopic,
  disableTopic,
  enableTopic,
];
