import type { AuditEvent } from "../lib/audit.ts";
import { RejectionError } from "../lib/errors.ts";
import type { TopicDetailsStore } from "../topics/details-store.ts";

export interface GuardOptions {
  /** Changes the topic although its set will change it back. */
  readonly force: boolean;
  /** Whether the caller may know about a namespace; about every one unless given. */
  readonly canSee?: (namespace: string) => boolean;
}

/**
 * Throws a RejectionError for a topic of a set, which is changed in the files of the set, unless that is
 * forced. Returns a function that marks audit events as forced if it is.
 */
export async function requireUnmanaged(
  store: Pick<TopicDetailsStore, "find">,
  externalId: string,
  { force, canSee = () => true }: GuardOptions,
): Promise<(event: AuditEvent) => AuditEvent> {
  const [details] = await store.find([externalId]);
  const membership = details !== undefined && canSee(details.namespace) ? details.membership : undefined;
  if (membership === undefined) return (event) => event;
  const { set, path } = membership;
  if (!force)
    throw new RejectionError(
      "MANAGED_BY_SET",
      `The topic "${externalId}" belongs to the set "${set}". Change it in ${path ?? "the files of the set"} and apply them, or force the change.`,
    );
  return (event) => ("externalId" in event ? { ...event, forced: true } : event);
}
