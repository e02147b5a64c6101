import { includesNamespace, type Namespaces } from "../users/rights.ts";
import { isManagedAs } from "./desired.ts";
import type { KnownTopic, PlanReader } from "./stores.ts";

/** A member of a set that is not as its set left it. */
export interface Drift {
  readonly externalId: string;
  readonly path: string | undefined;
  /** The versions of the topic that was applied, and of the one that is stored; null: it is not active. */
  readonly applied: number;
  readonly version: number | null;
  readonly message: string;
}

/** The drift of some members of a set, by external id. */
interface DriftPage {
  readonly drift: readonly Drift[];
  /** The external id to go on after; undefined if there are no more members. */
  readonly next: string | undefined;
}

const membersPerPage = 1_000;

/** Finds what something else than the set has changed, among its next members that the caller may see. */
export async function readDriftPage(
  source: Pick<PlanReader, "streamMembers">,
  set: string,
  from: {
    readonly after: string | undefined;
    readonly namespaces: Namespaces;
    /** How many members to compare: a request must not take long. */
    readonly limit?: number;
  },
): Promise<DriftPage> {
  const { limit = membersPerPage } = from;
  const drift: Drift[] = [];
  let [count, last] = [0, from.after];
  for await (const known of source.streamMembers(set, from)) {
    if (count === limit) return { drift, next: last };
    count += 1;
    last = known.externalId;
    const namespace = known.topic?.namespace ?? known.details?.namespace ?? "";
    if (includesNamespace(from.namespaces, namespace)) drift.push(...compareApplied(known));
  }
  return { drift, next: undefined };
}

/** Compares a member with what was applied last. */
function compareApplied({ externalId, topic, details }: KnownTopic): Drift[] {
  const { membership } = details ?? {};
  const { path, applied } = membership ?? {};
  if (details === undefined || applied === undefined) return [];
  const createDrift = (message: string): Drift[] => [
    {
      ...{ externalId, path, message },
      applied: applied.version,
      version: topic?.version ?? null,
    },
  ];
  if (applied.externalId !== undefined)
    return createDrift(`was renamed: its file has the external id "${applied.externalId}"`);
  if (isManagedAs(applied.digest, topic, { details, path })) return [];
  if (topic === undefined) return createDrift("is not active any more");
  if (topic.version === applied.version)
    return createDrift(
      `its details were changed by "${details.changedBy}" at ${details.changedOn.toISOString()}`,
    );
  const by = topic.source.kind === "http" ? `"${topic.source.user}"` : "the channel";
  return createDrift(`was changed by ${by} at ${topic.updatedOn.toISOString()}`);
}
