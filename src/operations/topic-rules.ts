import { RejectionError } from "@topicsync/lib/errors";
import { isSysId } from "@topicsync/lib/sys-id";
import { toEgressView, type EgressNaming } from "@topicsync/kafka";
import { forceQuerySchema, type ForceQuery } from "../../schemas/topics/sets.ts";
import { requireUnmanaged } from "../plans/guard.ts";
import { addDetails, type TopicSources } from "../topics/details/search.ts";
import type { TopicDetailsStore } from "../topics/details/store.ts";
import type { ChangeOptions } from "../topics/changing.ts";
import { UnknownTopicError } from "../topics/definition-change.ts";
import type { TopicReader } from "../topics/listing.ts";
import { toTopicDetail } from "../topics/topic-view.ts";
import { externalIdFault, type ListedTopic, type Topic, type TopicDefinition } from "../topics/topic.ts";
import { addUsage, type TopicUsageStore } from "../topics/usage.ts";
import { getNamespaces, includesNamespace } from "../users/rights.ts";
import { createForbiddenError, HttpError, requireNamespace } from "./framework/errors.ts";
import { toEtag } from "./framework/if-match.ts";
import type { Call, Reply } from "./framework/operation.ts";
import { queryRules } from "./framework/query.ts";

type Caller = Pick<Call, "user" | "namespaces">;

/** Whether the caller may know about a topic in a namespace. */
export const canSee = ({ user, namespaces }: Caller, namespace: string): boolean =>
  [namespaces, getNamespaces(user, "topics.read")].some((one) => includesNamespace(one, namespace));

/** The error for a topic in a namespace that is named only if the caller may know about it. */
export const createHiddenError = (caller: Caller, namespace: string): HttpError =>
  createForbiddenError(caller.user, "topics.write", canSee(caller, namespace) ? namespace : undefined);

/** Throws unless the caller may change a topic. One that the caller may not read does not exist. */
export const createTopicCheck =
  (caller: Caller) =>
  ({ externalId, namespace }: Topic): void => {
    if (includesNamespace(caller.namespaces, namespace)) return;
    throw canSee(caller, namespace)
      ? createForbiddenError(caller.user, "topics.write", namespace)
      : new UnknownTopicError(`there is no topic with the external id "${externalId}"`);
  };

/** How a request changes topics. */
export const toChangeOptions = (call: Caller): Pick<ChangeOptions, "user" | "check"> => ({
  user: call.user.name,
  check: createTopicCheck(call),
});

/** The query of `requireUnmanagedFor`. */
export const forceRules = queryRules<ForceQuery>(forceQuerySchema);

/** Throws for topics of a set, unless the caller forces the change. See `requireUnmanaged`. */
export const requireUnmanagedFor = (
  { query, namespaces }: Pick<Call<unknown, ForceQuery>, "query" | "namespaces">,
  store: Pick<TopicDetailsStore, "find">,
  externalIds: readonly string[],
): ReturnType<typeof requireUnmanaged> =>
  requireUnmanaged(store, externalIds, {
    force: query.force,
    canSee: (namespace) => includesNamespace(namespaces, namespace),
  });

/** A topic that moved here from a foreign namespace: its previous definition is not shown. */
export function hidePrevious(listed: ListedTopic, namespaces: Call["namespaces"]): ListedTopic {
  const { previous, ...topic } = listed.topic;
  if (previous === undefined || includesNamespace(namespaces, previous.namespace)) return listed;
  return { ...listed, topic };
}

/** Why a definition cannot be stored for a topic that exists. */
export const changeRejections = [
  ...(["NOT_FOUND", "BAD_FILTER", "BAD_EGRESS_NAME", "EXTERNAL_ID_TAKEN"] as const),
  ...(["DUPLICATE_EXTERNAL_ID", "DUPLICATE_COMBINATION", "MANAGED_BY_SET"] as const),
] as const;

/** Throws unless the caller may store a definition, and its events can be forwarded. */
export function requireStorable(
  caller: Caller,
  naming: EgressNaming | undefined,
  definition: TopicDefinition,
): void {
  requireNamespace(caller, "topics.write", definition.namespace);
  const { egressFault } = toEgressView(naming, definition);
  if (egressFault === undefined) return;
  const message = `leads to the egress topic ${egressFault}`;
  throw new RejectionError("BAD_EGRESS_NAME", "No events can be forwarded to this topic.", [
    { path: "/externalId", message },
  ]);
}

/** Finds the first new external id that is the sys_id of another topic: a path with it names that one. */
export async function findTakenId(
  topicReader: Pick<TopicReader, "findByAnyId">,
  externalIds: readonly string[],
): Promise<string | undefined> {
  const sysIds = externalIds.filter(isSysId);
  const found = await Promise.all(sysIds.map((id) => topicReader.findByAnyId(id)));
  return sysIds.find((id, at) => found[at]?.topic.id === id && found[at].topic.externalId !== id);
}

/** Throws a RejectionError unless `findTakenId` finds none. */
export async function requireFreeIds(...args: Parameters<typeof findTakenId>): Promise<void> {
  const taken = await findTakenId(...args);
  if (taken === undefined) return;
  const message = `The external id "${taken}" already exists. Provide a unique topic external id.`;
  throw new RejectionError("DUPLICATE_EXTERNAL_ID", message, [externalIdFault]);
}

/** What is shown with a topic. */
export interface ShownSources extends Pick<TopicSources, "topicDetails"> {
  readonly topicUsage: TopicUsageStore;
  readonly egressNaming: EgressNaming | undefined;
}

/** Where the events of a topic go, as members of its JSON; empty for a topic that is not active. */
export const showEgress = (naming: EgressNaming | undefined, { topic, retired }: ListedTopic) =>
  retired === undefined ? toEgressView(naming, topic) : {};

/** The reply with a topic, those of its details that the caller may see, and its entity tag. */
export async function replyWithTopic(
  { topicDetails, topicUsage, egressNaming }: ShownSources,
  listed: ListedTopic,
  namespaces: Call["namespaces"],
): Promise<Reply> {
  const described = await addDetails(topicDetails, [listed], namespaces);
  const [shown = listed] = await addUsage(topicUsage, described);
  return {
    status: 200,
    json: { ...toTopicDetail(hidePrevious(shown, namespaces)), ...showEgress(egressNaming, shown) },
    headers: { ETag: toEtag(listed.topic.version) },
  };
}

/** The topic that a path names by its sys_id, since not every external id can be part of a path. */
export async function findBySysId(
  topicReader: Pick<TopicReader, "findByAnyId">,
  id: string,
  caller: Caller,
): Promise<ListedTopic | undefined> {
  const found = isSysId(id) ? await topicReader.findByAnyId(id) : undefined;
  return found !== undefined && canSee(caller, found.topic.namespace) ? found : undefined;
}

/**
 * The external id of a topic that the path names by its sys_id. Other ids are returned as they are, and so is
 * the sys_id of a disabled topic whose external id another one has now.
 */
export async function findExternalId(
  call: Caller & Pick<Call, "parameters">,
  { topicReader }: { readonly topicReader: Pick<TopicReader, "find" | "findByAnyId"> },
): Promise<string> {
  const [id = ""] = Object.values(call.parameters);
  const found = await findBySysId(topicReader, id, call);
  if (found === undefined) return id;
  const { externalId } = found.topic;
  const holder = found.retired === undefined ? found : await topicReader.find(externalId);
  return holder?.topic.id === found.topic.id ? externalId : id;
}

/** Finds a topic, active or not, in the caller's namespaces. Throws a NOT_FOUND error. */
export async function findVisibleTopic(
  topicReader: Pick<TopicReader, "find" | "findByAnyId">,
  id: string,
  namespaces: Call["namespaces"],
): Promise<ListedTopic> {
  const isVisible = (found: ListedTopic | undefined): found is ListedTopic =>
    found !== undefined && includesNamespace(namespaces, found.topic.namespace);
  const found = await topicReader.findByAnyId(id);
  if (isVisible(found)) return found;
  // An external id of the caller's may look like the sys_id of a foreign topic.
  const named = isSysId(id) ? await topicReader.find(id) : undefined;
  if (isVisible(named)) return named;
  throw new HttpError("NOT_FOUND", `There is no topic "${id}".`);
}
