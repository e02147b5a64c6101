import type { AuditEvent } from "@topicsync/lib/audit/audit";
import type { SetChanges } from "../../schemas/topics/sets.ts";
import { PlanError } from "@topicsync/lib/errors";
import { invariant } from "@topicsync/lib/invariant";
import { formatRecordPosition } from "@topicsync/kafka";
import { toTopicEvent } from "../topics/audit.ts";
import type { DefinitionChange } from "../topics/definition-change.ts";
import { ChangesRejectedError } from "../topics/changing.ts";
import { DetailsConflictError } from "../topics/details/store.ts";
import {
  formatDetails,
  toDetails,
  toNextDetails,
  toReplacedDetails,
  type ReplacedDetails,
  type StoredDetails,
} from "../topics/details/details.ts";
import type { TopicService } from "../topics/service.ts";
import { isSameDefinition, type Topic } from "../topics/topic.ts";
import {
  checkSet,
  checkTouched,
  hideDetails,
  requireShapes,
  type ApplyAccess,
  type Found,
  type Known,
} from "./apply-access.ts";
import { digestDefinition, digestManaged } from "./desired.ts";
import { getDefinition, type PlannedChange, type PlannedState } from "./plan.ts";
import type { KnownTopic, PlanReader, SetWrites, TopicSetStore } from "./stores.ts";

/** Changes of a plan that are applied together. */
export type ApplyBatch = SetChanges & { readonly set: string };

export interface AppliedBatch {
  /** How many changes were made; the others were made before. */
  readonly applied: number;
  readonly events: readonly AuditEvent[];
}

export interface ApplyOptions {
  readonly user: string;
  readonly access: ApplyAccess;
}

/** Applies batches. Throws a PlanError if a topic has changed since the plan, and UnavailableError. */
export type ApplyChanges = (batch: ApplyBatch, options: ApplyOptions) => Promise<AppliedBatch>;

interface ApplyStores {
  readonly topics: Pick<TopicService, "change">;
  readonly reader: Pick<PlanReader, "findKnown">;
  readonly sets: Pick<TopicSetStore, "getDatabaseId" | "getPrimary" | "confirmReads" | "find" | "write">;
  readonly now: () => Date;
}

/** Other writers may change the details between the look-up and the write; retry, but not forever. */
const maxAttempts = 10;

/**
 * Creates the function that makes the changes of a batch, all or none. What was made already counts as
 * unchanged.
 */
export function createApply({ topics, reader, sets, now }: ApplyStores): ApplyChanges {
  return async (batch, { user, access }) => {
    if (batch.database !== sets.getDatabaseId()) throw createDatabaseError();
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const primary = sets.getPrimary();
      const set = await sets.find(batch.set);
      const known = await findTouched(batch, reader);
      checkTouched(batch, { set, known }, access);
      requireShapes(batch.changes);
      const shown = hideDetails(known, access);
      const { open, stale } = sortOut(batch, { known, shown });
      if (stale.length > 0) throw createStaleError(stale);
      // An election may have lost what counts as made.
      if (open.length < batch.changes.length && !(await sets.confirmReads(primary))) continue;
      if (open.length === 0) return { applied: 0, events: [] };
      const label = { set: batch.set, plan: batch.plan, ...(batch.revision && { revision: batch.revision }) };
      const writes = toSetWrites(open, { batch, known, shown, user, access, on: now() });
      try {
        const { events } = await topics.change(open.flatMap(toTopicChanges), {
          ...{ user, label, check: access.check },
          further: (transaction) => sets.write(writes, transaction),
        });
        return { applied: open.length, events: [...events, ...toDetailsEvents(writes, open, events)] };
      } catch (error) {
        if (error instanceof ChangesRejectedError)
          throw createStaleError(error.rejections.map(({ problem }) => problem.message));
        if (!(error instanceof DetailsConflictError)) throw error;
      }
    }
    throw new Error(`nothing was changed: other writers changed the set ${maxAttempts} times`);
  };
}

export const createDatabaseError = (): PlanError =>
  new PlanError("The plan is for another database. Plan again for this one.");

const createStaleError = (reasons: readonly string[]): PlanError =>
  new PlanError([...reasons, "Nothing of this batch was changed. Plan again."].join("\n"));

async function findTouched({ changes }: ApplyBatch, reader: ApplyStores["reader"]): Promise<Known> {
  const ids = new Set(
    changes.flatMap(({ externalId, after }) => [externalId, after?.externalId ?? externalId]),
  );
  return new Map((await reader.findKnown([...ids])).map((one) => [one.externalId, one]));
}

/** A change that is to be made, and the topic that it is about. */
interface OpenChange {
  readonly change: PlannedChange;
  readonly current: KnownTopic;
}

/** Finds the changes that are not made yet, and why some cannot be made any more. */
function sortOut(
  { changes, set, plan }: ApplyBatch,
  { known, shown }: Found,
): { open: OpenChange[]; stale: string[] } {
  const open: OpenChange[] = [];
  const stale: string[] = [];
  for (const change of changes) {
    if (isMade(change, set, shown)) continue;
    const { externalId } = change;
    const current = known.get(externalId) ?? { externalId, topic: undefined, details: undefined };
    const topic = findMadeTopic(change, plan, known);
    const reason = topic === undefined ? findStaleReason(change, current, { set, shown }) : undefined;
    if (reason === undefined) open.push({ change, current: topic ? { ...current, topic } : current });
    else stale.push(reason);
  }
  return { open, stale };
}

function isMade({ action, externalId, expects, after }: PlannedChange, set: string, known: Known): boolean {
  const { topic, details } = known.get(after?.externalId ?? externalId) ?? {};
  if (after === undefined)
    return details?.membership?.set !== set && (action === "release" || topic?.id !== expects?.id);
  const definition = getDefinition(after);
  return (
    (definition === undefined || (topic !== undefined && isSameDefinition(topic, definition))) &&
    (expects === null || topic?.id === expects.id) &&
    details?.membership?.set === set &&
    details.membership.path === after.path &&
    formatDetails(details) === formatDetails(toDetails(after))
  );
}

/** The topic as this plan has made it: without transactions, its details may be missing. */
function findMadeTopic({ after }: PlannedChange, plan: string, known: Known): Topic | undefined {
  const topic = after && known.get(after.externalId)?.topic;
  const definition = getDefinition(after);
  const isMade =
    topic?.source.kind === "http" &&
    topic.source.change?.plan === plan &&
    definition !== undefined &&
    isSameDefinition(topic, definition);
  return isMade ? topic : undefined;
}

function findStaleReason(
  { expects, detailsVersion, action, after }: PlannedChange,
  { externalId, topic, details }: KnownTopic,
  { set, shown }: Pick<Found, "shown"> & Pick<ApplyBatch, "set">,
): string | undefined {
  const own = shown.get(externalId)?.details;
  if (expects === null) {
    if (topic !== undefined && action === "create")
      return `"${externalId}" exists now: ${describeWriter(topic)}.`;
    if (topic === undefined && after?.name === undefined && own?.membership?.set !== set)
      return `"${externalId}" does not exist.`;
  } else if (topic === undefined) {
    if (action === "disable") return undefined;
    return `"${externalId}" had version ${expects.version} and is not active any more.`;
  } else if (topic.id !== expects.id)
    return `"${externalId}" is another topic now: ${describeWriter(topic)}.`;
  else if (topic.version !== expects.version)
    return `"${externalId}" has version ${topic.version}, not ${expects.version}: ${describeWriter(topic)}.`;
  else if (digestDefinition(topic) !== expects.digest)
    return `"${externalId}" has another definition than its version ${expects.version} in the plan: ${describeWriter(topic)}.`;
  // Nobody who may not see what another topic has left knows its version, unless there is a topic.
  if ((details?.version ?? 0) === detailsVersion || (topic === undefined && own !== details))
    return undefined;
  const writer =
    details === undefined
      ? ": they were removed"
      : own === undefined
        ? ""
        : `: "${details.changedBy}" changed them at ${details.changedOn.toISOString()}`;
  return `the details of "${externalId}" have version ${details?.version ?? 0}, not ${detailsVersion}${writer}.`;
}

const describeWriter = ({ source, updatedOn }: Topic): string =>
  `${source.kind === "http" ? `the user "${source.user}"` : `the announcement ${formatRecordPosition(source)}`} ` +
  `changed it at ${updatedOn.toISOString()}`;

/** The change of the topic itself, if it is part of a change. */
function toTopicChanges({ change: { action, after }, current }: OpenChange): DefinitionChange[] {
  const { externalId, topic } = current;
  const definition = getDefinition(after);
  if (topic === undefined)
    return action === "create" && definition !== undefined ? [{ kind: "create", definition }] : [];
  const expected = { version: topic.version, definition: topic };
  if (action === "disable") return [{ kind: "disable", externalId, expected }];
  if (definition === undefined || isSameDefinition(topic, definition)) return [];
  return [{ kind: "change", externalId, expected, definition }];
}

/** The audit events of details that were written without a change of their topic, which has its own event. */
function toDetailsEvents(
  { details }: SetWrites,
  open: readonly OpenChange[],
  events: readonly AuditEvent[],
): AuditEvent[] {
  const told = new Set(events.flatMap((event) => ("externalId" in event ? [event.externalId] : [])));
  const ids = new Map(
    open.map(({ change, current }) => [change.after?.externalId ?? change.externalId, current.topic?.id]),
  );
  return details
    .filter(({ externalId }) => !told.has(externalId))
    .map(({ externalId }) => toTopicEvent("described", { externalId, id: ids.get(externalId) ?? "" }));
}

interface WritesContext extends Found, ApplyOptions {
  readonly batch: ApplyBatch;
  readonly on: Date;
}

function toSetWrites(open: readonly OpenChange[], context: WritesContext): SetWrites {
  const { batch, user, on, access } = context;
  const { set, origin, plan, revision, total } = batch;
  const details: StoredDetails[] = [];
  const removedDetails: StoredDetails[] = [];
  const replacedDetails: ReplacedDetails[] = [];
  const namespaces = new Set<string>();
  for (const one of open) {
    const { topic } = one.current;
    const { after } = one.change;
    const written =
      after === undefined ? endMembership(one, context) : replaceDetails(one, { ...context, after });
    const place = getDefinition(after) ?? topic ?? written?.next;
    if (place !== undefined) namespaces.add(place.namespace);
    if (written === undefined) continue;
    const { next, stored, moved } = written;
    details.push(next);
    if (moved !== undefined) removedDetails.push(moved);
    for (const before of [stored, moved]) replacedDetails.push(...toReplacedDetails(before, next, topic?.id));
  }
  return {
    ...{ set, origin, on, details, removedDetails, replacedDetails },
    check: (stored) => {
      checkSet(stored, origin, access);
    },
    apply: { plan, ...(revision !== undefined && { revision }), by: user, total },
    namespaces: [...namespaces],
    applied: open.length,
  };
}

interface WrittenDetails {
  readonly next: StoredDetails;
  readonly stored: StoredDetails | undefined;
  /** What is stored under the external id before a rename. */
  readonly moved?: StoredDetails | undefined;
}

/** Keeps what the details say, in the namespace in which they were written. */
function endMembership(
  { current: { externalId, topic } }: OpenChange,
  { batch, shown, user, on }: WritesContext,
): WrittenDetails | undefined {
  const stored = shown.get(externalId)?.details;
  if (stored?.membership?.set !== batch.set) return undefined;
  const described = { externalId, name: topic?.name ?? "", namespace: stored.namespace };
  const change = { topic: described, details: stored, membership: null, by: user, at: on };
  return { stored, next: toNextDetails(stored, change) };
}

function replaceDetails(
  one: OpenChange,
  { after, batch: { set, plan }, known, shown, user, on }: WritesContext & { readonly after: PlannedState },
): WrittenDetails {
  const { current } = one;
  const stored = known.get(after.externalId)?.details;
  const former = known.get(current.externalId)?.topic === undefined ? shown : known;
  const moved = after.externalId === current.externalId ? undefined : former.get(current.externalId)?.details;
  const definition = getDefinition(after);
  const details = toDetails(after);
  const topic = definition ?? current.topic ?? (stored && { ...stored, name: "" });
  invariant(topic !== undefined, "details are those of a topic, or were described before");
  const version = (current.topic?.version ?? 0) + Number(toTopicChanges(one).length > 0);
  const applied = { version, digest: digestManaged({ definition, details, path: after.path }), plan, on };
  const next = toNextDetails(stored, {
    ...{ topic, moved, details, by: user, at: on },
    membership: { set, path: after.path, applied },
  });
  return { next, stored, moved };
}
