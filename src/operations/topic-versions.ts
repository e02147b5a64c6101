import { RejectionError } from "@topicsync/lib/errors";
import {
  restoreBodySchema,
  topicAtQuerySchema,
  versionListSchema,
  versionQuerySchema,
  type RestoreBody,
  type TopicAtQuery,
  type VersionList,
  type VersionQuery,
} from "../../schemas/topics/versions.ts";
import { topicDetailSchema } from "../../schemas/topics/view.ts";
import { readHistoryPage, toDetailsAt } from "../topics/history.ts";
import { restoreTopic } from "../topics/restoring.ts";
import { toEntryView, toPastTopicDetail } from "../topics/topic-view.ts";
import { addDetails } from "../topics/details/search.ts";
import type { TopicDefinition } from "../topics/topic.ts";
import { includesNamespace } from "../users/rights.ts";
import { bodyRules } from "./framework/body.ts";
import { HttpError } from "./framework/errors.ts";
import { parseIfMatch, toEtag } from "./framework/if-match.ts";
import { operation, type Call, type Operation } from "./framework/operation.ts";
import type { OperationServices } from "./framework/services.ts";
import { queryRules } from "./framework/query.ts";
import {
  canSee,
  changeRejections,
  findBySysId,
  findExternalId,
  findVisibleTopic,
  forceRules,
  hidePrevious,
  requireStorable,
  replyWithTopic,
  requireUnmanagedFor,
  toChangeOptions,
} from "./topic-rules.ts";

export const getTopic = operation({
  id: "getTopic",
  method: "GET",
  paths: ["/api/topicsync/v1/topics/{id}"],
  access: "topics.read",
  perNamespace: true,
  tag: "topics",
  summary: "Get a topic",
  description:
    "Its definition, an explanation of its filters, its details, its source, and its previous definition; with `at` as they were, with `version` without the details. For a retired topic, its last version.",
  parameters: {
    id: "External id of the topic, or its sys_id, which takes precedence.",
  },
  query: queryRules<TopicAtQuery>(topicAtQuerySchema),
  replies: { 200: { description: "The topic.", schema: topicDetailSchema, hasEtag: true } },
  rejections: ["NOT_FOUND"],
  async handle(call, services) {
    const { namespaces } = call;
    const { id = "" } = call.parameters;
    const { version, at } = call.query;
    if (version !== undefined && at !== undefined)
      throw new RejectionError("SCHEMA_VIOLATION", "The query is not valid.", [
        { path: "/at", message: "cannot be combined with version" },
      ]);
    if (version === undefined && at === undefined) {
      const current = await findVisibleTopic(services.topicReader, id, namespaces).catch(
        async (error: unknown) => {
          throw error instanceof HttpError ? await nameNamesake(services, call, error) : error;
        },
      );
      return replyWithTopic(services, current, namespaces);
    }
    const externalId = await findExternalId(call, services);
    const found =
      version === undefined
        ? await services.topicHistory.findAt(externalId, new Date(at ?? ""))
        : await services.topicHistory.findVersion(externalId, version);
    if (found === undefined || !includesNamespace(namespaces, found.topic.namespace)) {
      const which = version === undefined ? `at ${String(at)}` : `of version ${version}`;
      throw new HttpError("NOT_FOUND", `There is no topic "${id}" ${which}.`);
    }
    const { topic } = hidePrevious(found, namespaces);
    const history = at && toDetailsAt(services.topicHistory, new Date(at));
    const [shown] = history ? await addDetails(history, [{ topic }], namespaces) : [];
    const headers = { ETag: toEtag(topic.version) };
    return { status: 200, json: toPastTopicDetail({ ...found, topic }, shown?.details), headers };
  },
});

/** Says which topic has the name that was taken for an external id, if it is one. */
async function nameNamesake(
  { topicReader }: Pick<OperationServices, "topicReader">,
  { parameters: { id = "" }, namespaces }: Pick<Call, "parameters" | "namespaces">,
  { code, message }: HttpError,
): Promise<HttpError> {
  const query = { state: "active", name: id, namespaces } as const;
  const order = { sort: "name", descending: false } as const;
  const [found, other] = await topicReader.readSorted(query, { order, after: undefined, limit: 2 });
  const detail =
    found === undefined || other !== undefined ? "" : `The topic "${found.topic.externalId}" has this name.`;
  return new HttpError(code, message, { detail });
}

export const listVersions = operation({
  id: "listTopicVersions",
  method: "GET",
  paths: ["/api/topicsync/v1/topics/{id}/versions"],
  access: "topics.read",
  perNamespace: true,
  tag: "topics",
  summary: "List the versions of a topic",
  description:
    "Those of its definition and, as `described`, of its details, the latest first, one page at a time. Topics that had the external id before are included, under their own sys_ids.",
  parameters: { id: "External id of a topic that exists or existed, or its sys_id." },
  query: queryRules<VersionQuery>(versionQuerySchema),
  replies: { 200: { description: "A page of versions.", schema: versionListSchema } },
  rejections: ["NOT_FOUND"],
  async handle(call, services) {
    const { namespaces } = call;
    const { id = "" } = call.parameters;
    const { limit, after } = call.query;
    const externalId = (await findBySysId(services.topicReader, id, call))?.topic.externalId ?? id;
    const place = { namespaces, after, limit };
    const { entries, next } = await readHistoryPage(services.topicHistory, externalId, place);
    if (entries.length === 0 && after === undefined)
      throw new HttpError("NOT_FOUND", `There is no topic "${id}".`);
    const json: VersionList = { versions: entries.map(toEntryView), next: next ?? null };
    return { status: 200, json };
  },
});

export const restoreVersion = operation({
  id: "restoreTopic",
  method: "POST",
  paths: ["/api/topicsync/v1/topics/{externalId}/restore"],
  access: "topics.write",
  perNamespace: true,
  tag: "topics",
  summary: "Restore an earlier version of a topic",
  description:
    "Stores its definition as a new version, under the same sys_id and the present external id. A disabled topic becomes active. Topics of the channel cannot be restored: announce the definition instead.",
  parameters: { externalId: "External id of the topic, or its sys_id." },
  ifMatch: "optional",
  query: forceRules,
  body: bodyRules<RestoreBody>(restoreBodySchema),
  replies: {
    200: { description: "The topic has the definition.", schema: topicDetailSchema, hasEtag: true },
  },
  rejections: changeRejections,
  async handle(call, services) {
    const { body, namespaces } = call;
    const externalId = await findExternalId(call, services);
    const version = parseIfMatch(call);
    const mark = await requireUnmanagedFor(call, services.topicDetails, [externalId]);
    const request = {
      ...{ externalId, version: body.version, expected: version === undefined ? undefined : { version } },
      canSee: (namespace: string) => canSee(call, namespace),
      checkDefinition(definition: TopicDefinition): void {
        requireStorable(call, services.egressNaming, definition);
      },
    };
    const { topic, events } = await restoreTopic(services, request, toChangeOptions(call));
    return { ...(await replyWithTopic(services, { topic }, namespaces)), audit: events.map(mark) };
  },
});

/** Operations that show topics, also as they were, and restore what they were. */
export const topicHistoryOperations: readonly Operation[] = [getTopic, listVersions, restoreVersion];
