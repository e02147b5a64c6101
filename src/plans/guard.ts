import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { RejectionError } from "@topicsync/lib/errors";
import type { TopicDetailsStore } from "../topics/details/store.ts";

export interface GuardOptions {
  /** Changes the topic although its set will change it back. */
  readonly force: boolean;
  /** Whether the caller may know about a namespace. */
  readonly canSee: (namespace: string) => boolean;
}

/**
 * Throws a RejectionError for topics of a set, which are changed in the files of the set, unless that is
 * forced. Returns a function that marks their audit events as forced.
 */
export async function requireUnmanaged(
  store: Pick<TopicDetailsStore, "find">,
  externalIds: readonly string[],
  { force, canSee }: GuardOptions,
): Promise<(event: AuditEvent) => AuditEvent> {
  const managed = (await store.find(externalIds)).filter(
    ({ membership, namespace }) => membership !== undefined && canSee(namespace),
  );
  const [first] = managed;
  if (first?.membership !== undefined && !force) {
    const { set, path } = first.membership;
    throw new RejectionError(
      "MANAGED_BY_SET",
      `The topic "${first.externalId}" belongs to the set "${set}". Change it in ${path ?? "the files of the set"} and apply them, or force the change.`,
    );
  }
  const forced = new Set(managed.map(({ externalId }) => externalId));
  return (event) =>
    "externalId" in event && forced.has(event.externalId) ? { ...event, forced: true } : event;
}
