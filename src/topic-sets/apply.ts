import { PlanError } from "../lib/errors.ts";
import type { AuditEvent } from "../lib/audit.ts";
import { formatRecordPosition } from "../sync/records.ts";
import { toTopicEvent } from "../topics/audit.ts";
import type { DefinitionChange } from "../topics/definition-change.ts";
import { ChangesRejectedError } from "../topics/changing.ts";
import { DetailsConflictError } from "../topics/details-store.ts";
import {
  formatDetails,
  noDetails,
  toNextDetails,
  toReplacedDetails,
  type ReplacedDetails,
  type StoredDetails,
} from "../topics/details.ts";
import type { TopicService } from "../topics/service.ts";
import { isSameDefinition, type Topic, type TopicDefinition } from "../topics/topic.ts";
import { digestDefinition, digestManaged } from "./desired.ts";
import type { PlannedChange, TopicPlan } from "./plan.ts";
import type { KnownTopic, PlanSource, SetWrites, TopicSetStore } from "./stores.ts";

/** Changes of a plan that are applied together. */
export interface ApplyBatch extends Pick<TopicPlan, "database" | "set" | "origin" | "revision"> {
  /** The digest of the plan. */
  readonly plan: string;
  /** How many changes the plan has. */
  readonly total: number;
  readonly changes: readonly PlannedChange[];
}

export interface AppliedBatch {
  /** How many changes were made; the others were made before. */
  readonly applied: number;
  readonly events: readonly AuditEvent[];
}

export interface ApplyOptions {
  readonly user: string;
  /** Throws if the caller may not change a topic as it is, or make it as it is to be. */
  readonly check?:
    ((topic: Pick<TopicDefinition, "externalId" | "namespace">, isNew: boolean) => void) | undefined;
}

/** Applies batches. Throws a PlanError if a topic has changed since the plan, and UnavailableError. */
export type ApplyChanges = (batch: ApplyBatch, options: ApplyOptions) => Promise<AppliedBatch>;

interface ApplyStores {
  readonly topics: Pick<TopicService, "change">;
  readonly source: Pick<PlanSource, "findKnown">;
  readonly sets: Pick<TopicSetStore, "getDatabaseId" | "getPrimary" | "confirmReads" | "write">;
  readonly now: () => Date;
}

/** Other writers may change the details between the look-up and the write; retry, but not forever. */
const maxAttempts = 10;

/**
 * Creates the function that makes the changes of a batch, all or none. What was made already counts as
 * unchanged.
 */
export function createApply({ topics, source, sets, now }: ApplyStores): ApplyChanges {
  return async (batch, { user, check }) => {
    if (batch.database !== sets.getDatabaseId()) throw createDatabaseError();
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const primary = sets.getPrimary();
      const known = await findTouched(batch, source);
      if (check !== undefined) checkTouched(batch, known, check);
      const { open, stale } = sortOut(batch, known);
      if (stale.length > 0) throw createStaleError(stale);
      // An election may have lost what counts as made.
      if (open.length < batch.changes.length && !(await sets.confirmReads(primary))) continue;
      if (open.length === 0) return { applied: 0, events: [] };
      const label = { set: batch.set, plan: batch.plan, ...(batch.revision && { revision: batch.revision }) };
      const writes = toSetWrites(open, { batch, known, user, on: now() });
      try {
        const { events } = await topics.change(open.flatMap(toTopicChanges), {
          user,
          label,
          further: (transaction) => sets.write(writes, transaction),
        });
        return { applied: open.length, events: [...events, ...toDetailsEvents(open)] };
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

type Known = ReadonlyMap<string, KnownTopic>;

async function findTouched({ changes }: ApplyBatch, source: ApplyStores["source"]): Promise<Known> {
  const ids = new Set(
    changes.flatMap(({ externalId, after }) => [externalId, after?.externalId ?? externalId]),
  );
  return new Map((await source.findKnown([...ids])).map((one) => [one.externalId, one]));
}

/** Runs before anything is said about a topic; also for one whose external id a change takes. */
function checkTouched(
  { changes }: ApplyBatch,
  known: Known,
  check: NonNullable<ApplyOptions["check"]>,
): void {
  for (const { externalId, after } of changes) {
    for (const id of new Set([externalId, after?.externalId ?? externalId])) {
      const { topic, details } = known.get(id) ?? {};
      const before = topic ?? details;
      if (before !== undefined) check(before, false);
    }
    if (after?.definition !== undefined) check(after.definition, true);
  }
}

/** A change that is to be made, and the topic that it is about. */
interface OpenChange {
  readonly change: PlannedChange;
  readonly current: KnownTopic;
}

/** Finds the changes that are not made yet, and why some cannot be made any more. */
function sortOut({ changes, set, plan }: ApplyBatch, known: Known): { open: OpenChange[]; stale: string[] } {
  const open: OpenChange[] = [];
  const stale: string[] = [];
  for (const change of changes) {
    if (isMade(change, set, known)) continue;
    const { externalId } = change;
    const current = known.get(externalId) ?? { externalId, topic: undefined, details: undefined };
    const made = findMadeTopic(change, plan, known);
    if (made !== undefined) {
      open.push({ change, current: { ...current, topic: made } });
      continue;
    }
    const reason = findStaleReason(change, current);
    if (reason === undefined) open.push({ change, current });
    else stale.push(reason);
  }
  return { open, stale };
}

function isMade({ action, externalId, expects, after }: PlannedChange, set: string, known: Known): boolean {
  const { topic, details } = known.get(after?.externalId ?? externalId) ?? {};
  if (after === undefined)
    return details?.membership?.set !== set && (action === "release" || topic?.id !== expects?.id);
  const { definition } = after;
  return (
    (definition === undefined || (topic !== undefined && isSameDefinition(topic, definition))) &&
    (expects === null || topic?.id === expects.id) &&
    details?.membership?.set === set &&
    details.membership.path === after.path &&
    formatDetails(details) === formatDetails(after.details)
  );
}

/** The topic as this plan has made it: without transactions, its details may be missing. */
function findMadeTopic({ after }: PlannedChange, plan: string, known: Known): Topic | undefined {
  const topic = after && known.get(after.externalId)?.topic;
  const isMade =
    topic?.source.kind === "http" &&
    topic.source.change?.plan === plan &&
    after?.definition !== undefined &&
    isSameDefinition(topic, after.definition);
  return isMade ? topic : undefined;
}

function findStaleReason(
  { expects, detailsVersion, action }: PlannedChange,
  { externalId, topic, details }: KnownTopic,
): string | undefined {
  if (expects === null) {
    if (topic !== undefined && action === "create")
      return `"${externalId}" exists now: ${describeWriter(topic)}.`;
  } else if (topic === undefined) {
    if (action === "disable") return undefined;
    return `"${externalId}" had version ${expects.version} and is not active any more.`;
  } else if (topic.id !== expects.id)
    return `"${externalId}" is another topic now: ${describeWriter(topic)}.`;
  else if (topic.version !== expects.version)
    return `"${externalId}" has version ${topic.version}, not ${expects.version}: ${describeWriter(topic)}.`;
  else if (digestDefinition(topic) !== expects.digest)
    return `"${externalId}" has another definition than its version ${expects.version} in the plan: ${describeWriter(topic)}.`;
  if ((details?.version ?? 0) === detailsVersion) return undefined;
  const writer =
    details === undefined
      ? "they were removed"
      : `"${details.changedBy}" changed them at ${details.changedOn.toISOString()}`;
  return `the details of "${externalId}" have version ${details?.version ?? 0}, not ${detailsVersion}: ${writer}.`;
}

const describeWriter = ({ source, updatedOn }: Topic): string =>
  `${source.kind === "http" ? `the user "${source.user}"` : `the announcement ${formatRecordPosition(source)}`} ` +
  `changed it at ${updatedOn.toISOString()}`;

/** The change of the topic itself, if it is part of a change. */
function toTopicChanges({ change: { action, after }, current }: OpenChange): DefinitionChange[] {
  const { externalId, topic } = current;
  const definition = after?.definition;
  if (topic === undefined)
    return action === "create" && definition !== undefined ? [{ kind: "create", definition }] : [];
  const expected = { version: topic.version, definition: topic };
  if (action === "disable") return [{ kind: "disable", externalId, expected }];
  if (definition === undefined || isSameDefinition(topic, definition)) return [];
  return [{ kind: "change", externalId, expected, definition }];
}

/** The audit events of changes that leave the topics themselves as they are. */
const toDetailsEvents = (open: readonly OpenChange[]): AuditEvent[] =>
  open.flatMap((one) => {
    const { topic } = one.current;
    return topic === undefined || toTopicChanges(one).length > 0 ? [] : [toTopicEvent("described", topic)];
  });

interface WritesContext {
  readonly batch: ApplyBatch;
  readonly known: Known;
  readonly user: string;
  readonly on: Date;
}

function toSetWrites(open: readonly OpenChange[], { batch, known, user, on }: WritesContext): SetWrites {
  const { set, origin, plan, revision, total } = batch;
  const details: StoredDetails[] = [];
  const removedDetails: StoredDetails[] = [];
  const replacedDetails: ReplacedDetails[] = [];
  const namespaces = new Set<string>();
  for (const one of open) {
    const { change, current } = one;
    const { after } = change;
    const id = after?.externalId ?? current.externalId;
    const stored = known.get(id)?.details;
    const moved = id === current.externalId ? undefined : current.details;
    if (moved !== undefined) removedDetails.push(moved);
    const topic = after?.definition ??
      current.topic ?? { externalId: id, name: "", namespace: stored?.namespace ?? "" };
    namespaces.add(topic.namespace);
    const applied = {
      version: (current.topic?.version ?? 0) + Number(toTopicChanges(one).length > 0),
      digest: digestManaged(after ?? { details: noDetails }),
      plan,
      on,
    };
    const next = toNextDetails(stored, {
      ...{ topic, moved, by: user, at: on },
      details: after?.details ?? stored ?? noDetails,
      membership: after === undefined ? null : { set, path: after.path, applied },
    });
    details.push(next);
    for (const one of [stored, moved])
      replacedDetails.push(...toReplacedDetails(one, next, current.topic?.id));
  }
  return {
    ...{ set, origin, on, details, removedDetails, replacedDetails },
    apply: { plan, revision, by: user, total },
    namespaces: [...namespaces],
    applied: open.length,
  };
}
