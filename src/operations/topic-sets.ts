import { PlanError, RejectionError } from "@topicsync/lib/errors";
import { maxPageBytes, measureRecords } from "@topicsync/lib/page-bytes";
import { createValidator } from "@topicsync/lib/validation";
import { toEgressView, type EgressNaming } from "@topicsync/kafka";
import {
  databaseSchema,
  setChangesReplySchema,
  setChangesSchema,
  topicLookUpReplySchema,
  topicLookUpSchema,
  topicSetListSchema,
  topicSetNameSchema,
  topicSetQuerySchema,
  topicSetSchema,
  type SetChanges,
  type TopicLookUp,
  type TopicLookUpReply,
  type TopicSetDetail,
  type TopicSetQuery,
} from "../../schemas/topics/sets.ts";
import { version } from "../config/version.ts";
import type { ApplyAccess } from "../plans/apply-access.ts";
import { readDriftPage } from "../plans/drift.ts";
import type { KnownTopic, PlanReader } from "../plans/stores.ts";
import { toKnownView } from "../plans/view.ts";
import { showVersion } from "../topics/details/details.ts";
import { toDefinition } from "../topics/topic.ts";
import { includesNamespace, type Namespaces } from "../users/rights.ts";
import { bodyRules } from "./framework/body.ts";
import { HttpError, requireFound, requireNamespace } from "./framework/errors.ts";
import { queryRules } from "./framework/query.ts";
import { operation, type Call, type Operation } from "./framework/operation.ts";
import type { OperationServices } from "./framework/services.ts";
import { createHiddenError, requireFreeIds } from "./topic-rules.ts";
import { findWarnings } from "./topic-warnings.ts";

const checkName = createValidator<{ readonly name: string }>(topicSetNameSchema);

/** 500 changes of usual size. */
const maxChangesBytes = 1024 * 1024;

const reading = { access: "topics.read", perNamespace: true, tag: "topic sets" } as const;
const name = "Name of the set.";

export const listSets = operation({
  ...reading,
  id: "listTopicSets",
  method: "GET",
  paths: ["/api/topicsync/v1/topic-sets"],
  summary: "List sets of topics",
  description: "The sets whose topics are managed from files, with their last applies.",
  replies: { 200: { description: "All sets, by name.", schema: topicSetListSchema } },
  handle: async ({ namespaces }, { topicSetStore }) => ({
    status: 200,
    json: { sets: (await topicSetStore.list(namespaces)).map(({ view }) => view) },
  }),
});

export const getSet = operation({
  ...reading,
  id: "getTopicSet",
  method: "GET",
  paths: ["/api/topicsync/v1/topic-sets/{name}"],
  summary: "Get a set of topics",
  description:
    "Where it is applied from, its last applies, and its drift: the topics that something else has changed since.",
  parameters: { name },
  query: queryRules<TopicSetQuery>(topicSetQuerySchema),
  replies: { 200: { description: "The set.", schema: topicSetSchema } },
  rejections: ["NOT_FOUND"],
  async handle({ parameters: { name: given = "" }, query: { after }, namespaces }, services) {
    const set = await findVisible(services, given, namespaces);
    const { drift, next } = await readDriftPage(services.planReader, given, { after, namespaces });
    const topics = drift.map(({ externalId, path, applied, version, message }) => ({
      ...{ externalId, path: path ?? null, applied, version, message },
    }));
    const json: TopicSetDetail = { ...set.view, drift: { topics, next: next ?? null } };
    return { status: 200, json };
  },
});

/** Throws an HttpError unless there is a set with topics that the caller may see. */
async function findVisible(
  { topicSetStore }: Pick<OperationServices, "topicSetStore">,
  name: string,
  namespaces: Namespaces,
) {
  const found = await topicSetStore.find(name);
  const isVisible =
    namespaces === "all" || found?.namespaces.some((one) => includesNamespace(namespaces, one));
  return requireFound(isVisible ? found : undefined, "set", name);
}

export const lookUpTopics = operation({
  ...reading,
  id: "lookUpTopics",
  method: "POST",
  paths: ["/api/topicsync/v1/topic-look-up"],
  summary: "Look up topics for a plan",
  description:
    "Finds topics by set or external id, and the topics that hold the combinations of definitions. Read-only.",
  body: bodyRules<TopicLookUp>(topicLookUpSchema, { maxBytes: maxChangesBytes }),
  replies: { 200: { description: "What was found.", schema: topicLookUpReplySchema } },
  async handle(
    { body: { set, after, externalIds = [], definitions = [] }, namespaces, user },
    { planReader, eventTypes },
  ) {
    const wanted = definitions.map(toDefinition);
    const [page, topics, holders, warnings] = await Promise.all([
      set === undefined ? emptyPage : readPage(planReader, set, { after, namespaces }),
      planReader.findKnown(externalIds),
      wanted.length === 0 ? [] : planReader.findHolders(wanted),
      Promise.all(wanted.map((definition) => findWarnings({ eventTypes }, user, { definition }))),
    ]);
    const json: TopicLookUpReply = {
      topics: [...page.topics, ...topics.flatMap((one) => show(one, namespaces))],
      next: page.next,
      holders: holders.filter((one) => includesNamespace(namespaces, one.namespace)).map(toDefinition),
      warnings,
    };
    return { status: 200, json };
  },
});

const membersPerPage = 500;
type MemberPage = Pick<TopicLookUpReply, "topics" | "next">;
const emptyPage: MemberPage = { topics: [], next: null };

async function readPage(
  reader: PlanReader,
  set: string,
  from: { readonly after: string | undefined; readonly namespaces: Namespaces },
): Promise<MemberPage> {
  const topics: MemberPage["topics"] = [];
  let bytes = 0;
  for await (const member of reader.streamMembers(set, from)) {
    if (topics.length === membersPerPage || bytes >= maxPageBytes)
      return { topics, next: topics.at(-1)?.externalId ?? null };
    const shown = show(member, from.namespaces);
    topics.push(...shown);
    bytes += measureRecords(shown);
  }
  return { topics, next: null };
}

/** Shows what the caller may see of a topic and its details, if anything. */
function show({ externalId, topic, details }: KnownTopic, namespaces: Namespaces) {
  const canSee = (one: { readonly namespace: string } | undefined): boolean =>
    one !== undefined && includesNamespace(namespaces, one.namespace);
  if (!canSee(topic ?? details)) return [];
  const shown = details === undefined || canSee(details) ? details : showVersion(details.version);
  return [toKnownView({ externalId, topic, details: shown })];
}

export const changeSet = operation({
  id: "applyTopicChanges",
  method: "POST",
  paths: ["/api/topicsync/v1/topic-sets/{name}/changes"],
  access: "topics.write",
  perNamespace: true,
  tag: "topic sets",
  summary: "Apply changes of a plan",
  description:
    "Makes up to 500 changes of a plan, all or none. Each is made only if the topic is as the plan has seen it. Changes that were made already count as unchanged, so that the request can be repeated.",
  parameters: { name },
  body: bodyRules<SetChanges>(setChangesSchema, { maxBytes: maxChangesBytes }),
  replies: { 200: { description: "The changes are stored.", schema: setChangesReplySchema } },
  rejections: [
    ...(["VERSION_CONFLICT", "SET_ORIGIN_MISMATCH", "BAD_EGRESS_NAME", "BAD_FILTER"] as const),
    "DUPLICATE_EXTERNAL_ID",
  ],
  async handle(call, { applyChanges, topicReader, egressNaming }) {
    const { changes } = call.body;
    const named = changes.flatMap(({ action, externalId }) => (action === "create" ? [] : [externalId]));
    const given = changes.flatMap(({ after }) => after?.externalId ?? []);
    await requireFreeIds(
      topicReader,
      given.filter((id) => !named.includes(id)),
    );
    const { applied, events } = await applyChanges(
      { ...call.body, set: requireSetName(call.parameters) },
      { user: call.user.name, access: createAccess(call, egressNaming) },
    ).catch((error: unknown) => {
      if (!(error instanceof PlanError)) throw error;
      throw new HttpError("VERSION_CONFLICT", error.message);
    });
    return { status: 200, json: { applied }, audit: events };
  },
});

function requireSetName(parameters: Call["parameters"]): string {
  const checked = checkName(parameters);
  if (checked.ok) return checked.value.name;
  throw new RejectionError("SCHEMA_VIOLATION", "The name of the set is not valid.", checked.faults);
}

/** Nothing may be changed elsewhere, and no topic stored to which no events could be forwarded. */
const createAccess = (
  caller: Pick<Call, "user" | "namespaces">,
  naming: EgressNaming | undefined,
): ApplyAccess => {
  const canChange = (namespace: string): boolean => includesNamespace(caller.namespaces, namespace);
  return {
    canChange,
    check({ namespace }) {
      if (!canChange(namespace)) throw createHiddenError(caller, namespace);
    },
    checkDefinition(definition) {
      requireNamespace(caller, "topics.write", definition.namespace);
      const { egressFault } = toEgressView(naming, definition);
      if (egressFault !== undefined)
        throw new RejectionError(
          "BAD_EGRESS_NAME",
          `The topic "${definition.externalId}" leads to the egress topic ${egressFault}.`,
        );
    },
  };
};

export const getDatabase = operation({
  access: "user",
  tag: "topic sets",
  id: "getDatabase",
  method: "GET",
  paths: ["/api/topicsync/v1/database"],
  summary: "Get the identity of the database",
  description: "A plan is for one database.",
  replies: { 200: { description: "The database.", schema: databaseSchema } },
  handle: (_call, { topicSetStore }) => ({
    status: 200,
    json: { id: topicSetStore.getDatabaseId(), version },
  }),
});

/** Operations on sets of topics, which are managed from files. */
export const topicSetOperations: readonly Operation[] = [
  listSets,
  getSet,
  lookUpTopics,
  changeSet,
  getDatabase,
];
