import { RejectionError } from "@topicsync/lib/errors";
import { getUpdateTime } from "@topicsync/lib/time";
import { formatRecordPosition } from "@topicsync/kafka";
import {
  UnknownTopicError,
  VersionConflictError,
  type DefinitionChange,
  type ExpectedTopic,
} from "./definition-change.ts";
import { createDuplicateRejection, requireReadableFilters, type RequireReadable } from "./insertion.ts";
import { exchange, findConflicts, getUniqueValues } from "./rings.ts";
import { TopicSnapshot } from "./snapshot.ts";
import type { ChangeWrites } from "./stores.ts";
import {
  combinationFault,
  externalIdFault,
  isSameDefinition,
  toDefinition,
  toPreviousTopic,
  type AnnouncementSource,
  type RetiredTopic,
  type Topic,
  type TopicDefinition,
  type UserSource,
} from "./topic.ts";

/** Changes that are stored together. */
export interface ChangeSet {
  readonly changes: readonly DefinitionChange[];
  /** The active topics that the changes name, and the holders of the unique values that they want. */
  readonly stored: readonly Topic[];
  /** The last retirement of each external id; none where its topic was enabled again. */
  readonly retired: readonly RetiredTopic[];
  readonly source: UserSource;
  readonly now: Date;
  readonly newId: () => string;
  readonly requireReadable?: RequireReadable;
}

type ChangeOutcome = "created" | "changed" | "renamed" | "disabled" | "enabled" | "unchanged";

/** The result of a change: the topic as it is afterwards, or as it was when it was disabled. */
export interface ChangedTopic {
  readonly outcome: ChangeOutcome;
  readonly topic: Topic;
}

/** Why a change cannot be made. */
type ChangeProblem = RejectionError | UnknownTopicError | VersionConflictError;

export interface RejectedChange {
  /** The place of the change in the list. */
  readonly index: number;
  readonly problem: ChangeProblem;
}

/** All changes, or the problems for which none is made. */
export type ChangeDecision =
  | { readonly results: readonly ChangedTopic[]; readonly writes: ChangeWrites }
  | { readonly rejections: readonly RejectedChange[] };

/** What a change does. `from` is replaced or disabled, and `to` is stored. */
interface Effect extends ChangedTopic {
  readonly from?: Topic;
  readonly to?: Topic;
  readonly enabled?: RetiredTopic;
}

/**
 * Decides changes that are made at once: they may exchange external ids and combinations. A change that is
 * stored already counts as unchanged, so that repeating them is safe.
 */
export function decideChanges(set: ChangeSet): ChangeDecision {
  const context: Context = {
    requireReadable: requireReadableFilters,
    ...set,
    ...{ snapshot: new TopicSnapshot(set.stored), freed: new Set() },
  };
  const rejections: RejectedChange[] = [];
  const effects = new Map<number, Effect>();
  const named = new Set<string>();
  for (const [index, change] of sortCreationsLast(set.changes)) {
    try {
      requireNamedOnce(change, named);
      const effect = resolve(change, context);
      if (effect.from !== undefined) context.freed.add(effect.from.id);
      effects.set(index, effect);
    } catch (error) {
      if (!isProblem(error)) throw error;
      rejections.push({ index, problem: error });
    }
  }
  rejections.push(...findTakenValues(effects, context));
  if (rejections.length > 0) return { rejections: rejections.toSorted((a, b) => a.index - b.index) };
  return apply(effects, context);
}

interface Context extends ChangeSet {
  readonly requireReadable: RequireReadable;
  readonly snapshot: TopicSnapshot;
  /** The sys_ids of the topics that give up their unique values, or change them. */
  readonly freed: Set<string>;
}

/** Whether a topic exists that is to be created depends on the other changes, which may rename it. */
const sortCreationsLast = (changes: readonly DefinitionChange[]): [number, DefinitionChange][] =>
  [...changes.entries()].toSorted(
    ([, a], [, b]) => Number(a.kind === "create") - Number(b.kind === "create"),
  );

const isProblem = (error: unknown): error is ChangeProblem =>
  error instanceof RejectionError ||
  error instanceof UnknownTopicError ||
  error instanceof VersionConflictError;

/** The result of simultaneous changes of one topic would depend on their order. */
function requireNamedOnce(change: DefinitionChange, named: Set<string>): void {
  if (change.kind === "create") return;
  const { externalId } = change;
  if (named.has(externalId))
    throw new RejectionError("SCHEMA_VIOLATION", `The topic "${externalId}" is changed twice.`, [
      { path: "/externalId", message: "occurs in another change; combine them" },
    ]);
  named.add(externalId);
}

function resolve(change: DefinitionChange, context: Context): Effect {
  switch (change.kind) {
    case "create":
      return resolveCreation(change.definition, context);
    case "change":
      return resolveChange(change, context);
    case "disable":
      return resolveDisabling(change, context);
    case "enable":
      return resolveEnabling(change, context);
  }
}

function resolveCreation(definition: TopicDefinition, context: Context): Effect {
  const { snapshot, freed, source, now, newId } = context;
  const existing = snapshot.findByExternalId(definition.externalId);
  if (existing !== undefined && !freed.has(existing.id) && isOwnDefinition(existing, definition))
    return { outcome: "unchanged", topic: existing };
  context.requireReadable(definition);
  const to = { ...definition, id: newId(), version: 1, source, createdOn: now, updatedOn: now };
  return { outcome: "created", topic: to, to };
}

function resolveChange(
  { externalId, expected, definition }: Extract<DefinitionChange, { kind: "change" }>,
  context: Context,
): Effect {
  const { snapshot, source, now } = context;
  const current = snapshot.findByExternalId(externalId);
  const target = snapshot.findByExternalId(definition.externalId);
  const isDone =
    target !== undefined &&
    isSameDefinition(target, definition) &&
    (target === current || target.formerIds?.includes(externalId) === true);
  if (isDone) return { outcome: "unchanged", topic: target };
  if (current === undefined) throw createAbsentError(externalId, context);
  requireExpected(current, expected);
  if (current.source.kind === "announcement") {
    const line = JSON.stringify(toDefinition(definition));
    const advice = `To change it, announce (\`topicsync announce\`): ${line}`;
    throw createChannelRejection(definition.externalId, "announced", current.source, advice);
  }
  context.requireReadable(definition);
  const isRenamed = definition.externalId !== externalId;
  const to: Topic = {
    ...{ ...current, ...definition, source, updatedOn: now, previous: toPreviousTopic(current) },
    ...(isRenamed && { formerIds: addFormerId(current, definition.externalId) }),
  };
  return { outcome: isRenamed ? "renamed" : "changed", topic: to, from: current, to };
}

function resolveDisabling(
  { externalId, expected }: Extract<DefinitionChange, { kind: "disable" }>,
  context: Context,
): Effect {
  const current = context.snapshot.findByExternalId(externalId);
  const last = findRetired(externalId, context)?.topic;
  if (current === undefined || !isExpected(current, expected)) {
    // It is disabled already. Another topic may have taken the external id since.
    if (last !== undefined && isExpected(last, expected)) return { outcome: "unchanged", topic: last };
    const found = current ?? last;
    if (found !== undefined) requireExpected(found, expected);
    throw createAbsentError(externalId, context);
  }
  if (current.source.kind === "announcement") {
    const advice = `To retire it, send a record with its external id as the key and without a value to ${current.source.topic}.`;
    throw createChannelRejection(externalId, "announced", current.source, advice);
  }
  return { outcome: "disabled", topic: current, from: current };
}

function resolveEnabling(
  { externalId, expected, definition }: Extract<DefinitionChange, { kind: "enable" }>,
  context: Context,
): Effect {
  const { snapshot, source, now } = context;
  const active = snapshot.findByExternalId(externalId);
  const last = findRetired(externalId, context);
  const disabled = last?.retiredBy.kind === "http" ? last : undefined;
  const isDone =
    active !== undefined &&
    (definition === undefined
      ? disabled === undefined || disabled.topic.id === active.id
      : isOwnDefinition(active, definition));
  if (isDone) return { outcome: "unchanged", topic: active };
  if (last?.retiredBy.kind === "announcement") {
    const advice = "To bring it back, announce it again (`topicsync announce FILE`).";
    throw createChannelRejection(externalId, "retired", last.retiredBy, advice);
  }
  if (disabled === undefined) throw createAbsentError(externalId, context);
  const { topic } = disabled;
  requireExpected(topic, expected);
  const isOther = definition !== undefined && !isSameDefinition(topic, definition);
  const to: Topic = {
    ...{ ...topic, ...definition, externalId, source, version: topic.version + 1 },
    updatedOn: getEnableTime(now, disabled),
    ...(isOther && { previous: toPreviousTopic(topic) }),
  };
  context.requireReadable(to);
  return { outcome: "enabled", topic: to, to, enabled: disabled };
}

const isOwnDefinition = (topic: Topic, definition: TopicDefinition): boolean =>
  topic.source.kind === "http" && isSameDefinition(topic, definition);

const findRetired = (externalId: string, { retired }: Context): RetiredTopic | undefined =>
  retired.find(({ topic }) => topic.externalId === externalId);

/** A topic that is enabled again begins after its retirement, also by another clock. */
const getEnableTime = (now: Date, { topic, retiredOn }: RetiredTopic): Date =>
  getUpdateTime(getUpdateTime(now, topic.updatedOn), retiredOn);

const isExpected = (topic: Topic, expected: ExpectedTopic | undefined): boolean =>
  expected === undefined ||
  (topic.version === expected.version &&
    (expected.definition === undefined || isSameDefinition(topic, expected.definition)));

function requireExpected(topic: Topic, expected: ExpectedTopic | undefined): void {
  if (expected !== undefined && !isExpected(topic, expected)) throw new VersionConflictError(topic, expected);
}

/** Enough to follow a topic that is renamed again and again; what reads them looks each of them up. */
const maxFormerIds = 20;

const addFormerId = ({ externalId, formerIds = [] }: Topic, next: string): readonly string[] =>
  [...formerIds, externalId].filter((id) => id !== next).slice(-maxFormerIds);

/** Finds the unique values that two changes want, or that belong to a topic that keeps them. */
function findTakenValues(effects: ReadonlyMap<number, Effect>, { stored }: Context): RejectedChange[] {
  const held = new Set(stored.flatMap(getUniqueValues));
  const items = [...effects].map(([index, { from, to }]) => ({ index, to, ...exchange(from, to) }));
  return [...findConflicts(items, (value) => held.has(value))].flatMap(([{ index, to }, conflicts]) => {
    if (to === undefined) return [];
    const [id] = getUniqueValues(to);
    const faults = conflicts.map(({ value }) => (value === id ? externalIdFault : combinationFault));
    const problem = createDuplicateRejection(to, faults);
    return problem === undefined ? [] : [{ index, problem }];
  });
}

function apply(effects: ReadonlyMap<number, Effect>, { snapshot, source, now }: Context): ChangeDecision {
  const all = [...effects].toSorted(([a], [b]) => a - b).map(([, effect]) => effect);
  for (const { outcome, topic } of all)
    if (outcome === "disabled") snapshot.retire({ topic, retiredOn: now, retiredBy: source });
  snapshot.replace(
    ...all.flatMap(({ outcome, from, to }) =>
      from === undefined || to === undefined
        ? []
        : [{ from, to, action: outcome === "renamed" ? ("renamed" as const) : ("changed" as const) }],
    ),
  );
  for (const { from, to } of all) if (to !== undefined && from === undefined) snapshot.add(to);
  const enabled = all.flatMap((one) => one.enabled ?? []);
  const renamed = all.flatMap(({ outcome, from, to }) =>
    outcome === "renamed" && from !== undefined && to !== undefined ? [{ from, to }] : [],
  );
  const results = all.map(({ outcome, topic, to }) => ({
    outcome,
    // With its new version.
    topic: (to && snapshot.findByExternalId(to.externalId)) ?? topic,
  }));
  return { results, writes: { ...snapshot.toWrites(), enabled, renamed } };
}

function createAbsentError(externalId: string, context: Context): UnknownTopicError {
  const isDisabled = findRetired(externalId, context)?.retiredBy.kind === "http";
  return new UnknownTopicError(
    isDisabled
      ? `the topic "${externalId}" is disabled; enable or restore it first`
      : `there is no topic with the external id "${externalId}"`,
  );
}

/** The rejection of a change to a topic that the channel announced or retired. */
const createChannelRejection = (
  externalId: string,
  did: "announced" | "retired",
  source: AnnouncementSource,
  advice: string,
): RejectionError =>
  new RejectionError(
    "EXTERNAL_ID_TAKEN",
    `The topic "${externalId}" belongs to the channel, which ${did} it (${formatRecordPosition(source)}). ${advice}`,
    [externalIdFault],
  );
