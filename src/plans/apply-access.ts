import { RejectionError, type Fault } from "@topicsync/lib/errors";
import { findDetailsFaults, toDetails } from "../topics/details/details.ts";
import type { TopicDefinition } from "../topics/topic.ts";
import { getDefinition, type PlannedChange, type TopicPlan } from "./plan.ts";
import type { KnownTopic, TopicSet } from "./stores.ts";

/** What a caller may change. */
export interface ApplyAccess {
  readonly canChange: (namespace: string) => boolean;
  /** Throws if the caller may not change what is in a namespace. */
  readonly check: (found: Pick<TopicDefinition, "namespace">) => void;
  /** Throws if the caller may not store a definition. */
  readonly checkDefinition: (definition: TopicDefinition) => void;
}

/** What is stored, by external id. */
export type Known = ReadonlyMap<string, KnownTopic>;

export interface Found {
  readonly known: Known;
  /** See `hideDetails`. */
  readonly shown: Known;
}

/**
 * Runs before anything is said about the set or a topic; also for one whose external id a change takes. What
 * is left there of a topic that is gone may be replaced by a new one, as by any creation.
 */
export function checkTouched(
  { changes, origin }: Pick<TopicPlan, "changes" | "origin">,
  { set, known }: { readonly set: TopicSet | undefined; readonly known: Known },
  access: ApplyAccess,
): void {
  const { check, checkDefinition } = access;
  if (set !== undefined) checkSet(set, origin, access);
  for (const { externalId, after } of changes) {
    const definition = getDefinition(after);
    for (const id of new Set([externalId, after?.externalId ?? externalId])) {
      const { topic, details } = known.get(id) ?? {};
      const before = topic ?? (definition === undefined ? details : undefined);
      if (before !== undefined) check(before);
    }
    if (definition !== undefined) checkDefinition(definition);
  }
}

/**
 * Throws unless the caller may change topics of a set, in one namespace at least. The first one to name its
 * repository shuts all others out, and must be allowed to change all of it.
 */
export function checkSet(
  { namespaces, view: { origin } }: TopicSet,
  given: string | undefined,
  { canChange, check }: ApplyAccess,
): void {
  const foreign = namespaces.filter((one) => !canChange(one));
  const isClaimed = origin === undefined && given !== undefined;
  const [namespace] = foreign;
  if (namespace !== undefined && (isClaimed || foreign.length === namespaces.length)) check({ namespace });
}

/** Throws a RejectionError for changes that no plan has. */
export function requireShapes(changes: readonly PlannedChange[]): void {
  const faults = changes.flatMap((change, index) =>
    findShapeFaults(change).map(({ path, message }) => ({ path: `/changes/${index}${path}`, message })),
  );
  if (faults.length > 0)
    throw new RejectionError("SCHEMA_VIOLATION", "The changes are not those of a plan.", faults);
}

function findShapeFaults({ action, externalId, expects, after }: PlannedChange): Fault[] {
  const ends = action === "disable" || action === "release";
  if (ends !== (after === undefined))
    return [{ path: "/after", message: `must ${ends ? "not " : ""}be there for the action ${action}` }];
  const faults: Fault[] = [];
  const isDetailed = action === "describe" || action === "adopt" || ends;
  if (!isDetailed && after?.name === undefined)
    faults.push({ path: "/after/name", message: `is required for the action ${action}` });
  if (action !== "describe" && action !== "release" && (action === "create") !== (expects === null))
    faults.push({
      path: "/expects",
      message: `must ${action === "create" ? "" : "not "}be null for the action ${action}`,
    });
  if (after === undefined) return faults;
  if (after.externalId !== externalId && (after.name === undefined || expects === null))
    faults.push({ path: "/after/externalId", message: "differs, although no topic is renamed" });
  for (const { path, message } of findDetailsFaults(after.externalId, toDetails(after)))
    faults.push({ path: `/after${path}`, message });
  return faults;
}

/** What the caller may know: details without those that another topic left in a foreign namespace. */
export const hideDetails = (known: Known, { canChange }: ApplyAccess): Known =>
  new Map(
    [...known].map(([id, one]) => [
      id,
      one.details === undefined || canChange(one.details.namespace) ? one : { ...one, details: undefined },
    ]),
  );
