import { forceQuerySchema, type ForceQuery } from "../../schemas/topic-sets.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { requireUnmanaged } from "../../src/topic-sets/guard.ts";
import { DetailsConflictError, type TopicDetailsStore } from "../../src/topics/details-store.ts";
import { UnknownTopicError } from "../../src/topics/disabling.ts";
import type { ListedTopic, Topic } from "../../src/topics/topic.ts";
import { getNamespaces, includesNamespace } from "../../src/users/rights.ts";
import { createForbiddenError, HttpError } from "../framework/errors.ts";
import type { Call } from "../framework/operation.ts";
import { toQueryParameters, validateQuery } from "../framework/query.ts";

type Caller = Pick<Call, "user" | "namespaces">;

/** Throws unless the caller may change a topic. One that the caller may not read does not exist. */
export const createTopicCheck =
  ({ user, namespaces }: Caller) =>
  ({ externalId, namespace }: Topic): void => {
    if (includesNamespace(namespaces, namespace)) return;
    throw includesNamespace(getNamespaces(user, "topics.read"), namespace)
      ? createForbiddenError(user, "topics.write", namespace)
      : new UnknownTopicError(`there is no topic with the external id "${externalId}"`);
  };

const checkForce = createValidator<ForceQuery>(forceQuerySchema);

/** The query parameter of `requireUnmanagedFor`. */
export const forceParameter = toQueryParameters(forceQuerySchema);

/** Throws for a topic of a set, unless the caller forces the change. See `requireUnmanaged`. */
export const requireUnmanagedFor = (
  { query, parameters: { externalId = "" }, namespaces }: Call,
  store: Pick<TopicDetailsStore, "find">,
): ReturnType<typeof requireUnmanaged> =>
  requireUnmanaged(store, externalId, {
    force: validateQuery(checkForce, query).force === "true",
    canSee: (namespace) => includesNamespace(namespaces, namespace),
  });

/** A topic that moved here from a foreign namespace: its previous definition is not shown. */
export function hidePrevious(listed: ListedTopic, namespaces: Call["namespaces"]): ListedTopic {
  const { previous, ...topic } = listed.topic;
  if (previous === undefined || includesNamespace(namespaces, previous.namespace)) return listed;
  return { ...listed, topic };
}

/** Translates why a topic cannot be changed. */
export function toHttpProblem(error: unknown): unknown {
  if (error instanceof UnknownTopicError) {
    const { message } = error;
    return new HttpError("NOT_FOUND", `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
  }
  if (error instanceof DetailsConflictError)
    return new HttpError("VERSION_CONFLICT", "The details do not have the version in the If-Match header.", {
      detail: "Nothing was changed. Read the topic again, and decide on what it is now.",
    });
  return error;
}
