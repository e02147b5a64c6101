import { RejectionError } from "../../src/lib/errors.ts";
import { toEgressView, type EgressNaming } from "../../src/routing/egress.ts";
import { VersionConflictError } from "../../src/topics/changes.ts";
import { UnknownTopicError } from "../../src/topics/disabling.ts";
import type { ListedTopic, Topic, TopicDefinition } from "../../src/topics/topic.ts";
import { getNamespaces, includesNamespace } from "../../src/users/rights.ts";
import { createForbiddenError, HttpError } from "../framework/errors.ts";
import type { Call } from "../framework/operation.ts";

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

/** A topic that moved here from a foreign namespace: its previous definition is not shown. */
export function hidePrevious(listed: ListedTopic, namespaces: Call["namespaces"]): ListedTopic {
  const { previous, ...topic } = listed.topic;
  if (previous === undefined || includesNamespace(namespaces, previous.namespace)) return listed;
  return { ...listed, topic };
}

/** Throws a RejectionError if no event could be forwarded to a topic. */
export function requireEgressName(naming: EgressNaming | undefined, definition: TopicDefinition): void {
  const { egressFault } = toEgressView(naming, definition);
  if (egressFault === undefined) return;
  const message = `leads to the egress topic ${egressFault}`;
  throw new RejectionError("BAD_EGRESS_NAME", "No events can be forwarded to this topic.", [
    { path: "/externalId", message },
  ]);
}

/** Translates why a topic cannot be changed. */
export function toHttpProblem(error: unknown): unknown {
  if (error instanceof UnknownTopicError) {
    const { message } = error;
    return new HttpError("NOT_FOUND", `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
  }
  if (error instanceof VersionConflictError)
    return new HttpError("VERSION_CONFLICT", error.message, {
      detail: "Nothing was changed. Read the topic again, and decide on what it is now.",
    });
  return error;
}
