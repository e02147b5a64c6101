import { PlanError } from "@topicsync/lib/errors";
import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import { compareFilters } from "@topicsync/filters";
import type { EgressNaming } from "@topicsync/kafka";
import type { KnownTopicView } from "../../schemas/topics/sets.ts";
import { toDetails } from "../topics/details/details.ts";
import { getCombination, type TopicDefinition } from "../topics/topic.ts";
import { blockTaken } from "./combinations.ts";
import { decideChange, decideRemoval, type OwnershipOptions } from "./decide-change.ts";
import { isManagedAs, type DesiredEntry, type DesiredSet } from "./desired.ts";
import { getDefinition, type Blocked, type Leftover, type PlannedChange, type PlanResult } from "./plan.ts";
import { toPlanFile } from "./plan-file.ts";
import { createOriginRejection, type PlanSource } from "./stores.ts";

/** How many topics a plan may disable: a number, or a share of the set's topics. */
export type MaxDeletes = { readonly count: number } | { readonly percent: number };

export interface SetPlanOptions extends Omit<OwnershipOptions, "set"> {
  readonly prune?: boolean | undefined;
  /** Undefined: 10 topics, or 10 % of the set if that is more. */
  readonly maxDeletes?: MaxDeletes | undefined;
  /** Files without any topics are not a mistake. */
  readonly allowEmpty?: boolean | undefined;
  readonly origin: string | undefined;
  readonly revision: string | undefined;
  readonly user: string;
  readonly now: Date;
  /** Undefined: unknown, or no router is configured. */
  readonly egressNaming: EgressNaming | undefined;
}

const idsPerLookup = 1_000;
const definitionsPerCheck = 100;
/** A plan with more would take gigabytes of memory; `topicsync topics import` loads more topics. */
const maxChanges = 100_000;

/**
 * Compares the files of a set with what is stored. Writes nothing. Throws a PlanError or RejectionError if
 * the plan as a whole is not allowed, and UnavailableError.
 */
export async function createPlan(
  desired: DesiredSet,
  source: PlanSource,
  options: SetPlanOptions,
): Promise<PlanResult> {
  const { set: name, topics } = desired;
  const { origin, revision } = options;
  if (topics.size === 0 && !options.allowEmpty)
    throw new PlanError("The files have no topics. If that is intended, use --allow-empty.");
  const set = await source.findSet(name);
  if (set?.origin !== undefined && set.origin !== origin)
    throw createOriginRejection(name, set.origin, origin);
  const stored = await compareMembers(desired, source);
  const decided = await decideAll(desired, source, { ...stored, options });
  const { orphaned, unread, removed } = sortLeftovers(desired, decided.leftovers, options);
  const decisions = [...decided.decisions, ...removed.map(decideRemoval)];
  const { changes, blocked } = await blockTaken(decisions, source);
  requirePruneLimit(changes, stored.members, options);
  return {
    plan: toPlanFile({
      database: source.databaseId,
      set: name,
      ...(origin !== undefined && { origin }),
      ...(revision !== undefined && { revision }),
      createdOn: options.now.toISOString(),
      createdBy: options.user,
      changes: await addWarnings(addNotes(changes, topics, options), source),
    }),
    ...{ blocked, orphaned, unread },
    unchanged: stored.unchanged,
    files: desired.files,
    topics: topics.size,
  };
}

interface Comparison {
  /** Members of the set that are not as the files want them, by external id. */
  readonly different: ReadonlyMap<string, KnownTopicView>;
  /** Members that are not in the files, or drafts there. */
  readonly leftovers: readonly KnownTopicView[];
  /** External ids in the files that are no members yet. */
  readonly others: readonly string[];
  readonly unchanged: number;
  /** How many active topics the set has. */
  readonly members: number;
}

async function compareMembers({ set, topics }: DesiredSet, source: PlanSource): Promise<Comparison> {
  const seen = new Set<string>();
  const different = new Map<string, KnownTopicView>();
  const leftovers: KnownTopicView[] = [];
  let [unchanged, members] = [0, 0];
  for await (const known of source.streamMembers(set)) {
    if (known.topic !== null) members += 1;
    const entry = topics.get(known.externalId);
    if (entry === undefined || entry.isDraft) {
      if (known.topic !== null) leftovers.push(known);
    } else {
      seen.add(known.externalId);
      if (isAsWanted(entry, known)) unchanged += 1;
      else different.set(known.externalId, known);
    }
    requireFewChanges(different.size + leftovers.length);
  }
  const others = [...topics].filter(([id, { isDraft }]) => !isDraft && !seen.has(id)).map(([id]) => id);
  requireFewChanges(others.length);
  return { different, leftovers, others, unchanged, members };
}

function isAsWanted({ digest, renamedFrom }: DesiredEntry, { topic, details }: KnownTopicView): boolean {
  if (details?.set == null) return false;
  // A member that is not active may be the new name of another one.
  if (topic === null && renamedFrom !== undefined) return false;
  return isManagedAs(digest, topic, { details: toDetails(details), path: details.path ?? undefined });
}

function requireFewChanges(count: number): void {
  if (count > maxChanges)
    throw new PlanError(
      `The plan would have more than ${maxChanges.toLocaleString("en-US")} changes. Plan fewer files at a time.`,
    );
}

interface DecisionContext extends Comparison {
  readonly options: SetPlanOptions;
}

async function decideAll(
  { set, topics, read }: DesiredSet,
  source: PlanSource,
  { different, leftovers, others, options }: DecisionContext,
): Promise<{ decisions: (PlannedChange | Blocked)[]; leftovers: readonly KnownTopicView[] }> {
  const known = new Map(different);
  const former = [...others, ...different.keys()].flatMap((id) => topics.get(id)?.renamedFrom ?? []);
  for (const ids of splitIntoBatches([...others, ...former], idsPerLookup))
    for (const one of await source.findKnown(ids)) known.set(one.externalId, one);
  const decisions: (PlannedChange | Blocked)[] = [];
  const renamed = new Set<string>();
  for await (const topic of read(new Set([...different.keys(), ...others]))) {
    const own = known.get(topic.externalId);
    const before = topic.renamedFrom === undefined ? undefined : known.get(topic.renamedFrom);
    const isRenamed = (own?.topic ?? null) === null && before !== undefined && before.topic !== null;
    if (isRenamed) renamed.add(before.externalId);
    const decision = isRenamed
      ? decideChange(topic, before, { ...options, set }, own)
      : decideChange(topic, own, { ...options, set });
    if (decision !== undefined) decisions.push(decision);
  }
  return { decisions, leftovers: leftovers.filter(({ externalId }) => !renamed.has(externalId)) };
}

/** Splits members that are not wanted any more. Drafts are always removed, others only with `prune`. */
function sortLeftovers(
  { topics, paths }: DesiredSet,
  leftovers: readonly KnownTopicView[],
  { prune }: SetPlanOptions,
): { orphaned: Leftover[]; unread: Leftover[]; removed: KnownTopicView[] } {
  const [orphaned, unread, removed] = [[] as Leftover[], [] as Leftover[], [] as KnownTopicView[]];
  for (const known of leftovers) {
    const { externalId } = known;
    const path = known.details?.path ?? "";
    if (topics.has(externalId)) removed.push(known);
    else if (!paths.some((read) => isBelow(path, read))) unread.push({ externalId, path });
    else if (prune) removed.push(known);
    else orphaned.push({ externalId, path });
  }
  return { orphaned, unread, removed };
}

const isBelow = (path: string, read: string): boolean =>
  read === "" || path === read || path.startsWith(`${read}/`);

/** Adds what a change means, and whether it may be half of a rename. */
function addNotes(
  changes: readonly PlannedChange[],
  topics: DesiredSet["topics"],
  { egressNaming }: SetPlanOptions,
): PlannedChange[] {
  const disabled = new Map<string, string>();
  for (const { action, externalId, before } of changes) {
    const definition = getDefinition(before);
    if (action === "disable" && definition) disabled.set(getCombination(definition), externalId);
  }
  return changes.map((change) => {
    const { action, externalId } = change;
    const [before, after] = [getDefinition(change.before), getDefinition(change.after)];
    const same = action === "create" && after ? disabled.get(getCombination(after)) : undefined;
    const notes = [
      ...(same === undefined
        ? []
        : [`looks like a rename; \`renamedFrom: ${same}\` keeps the sys_id and the history`]),
      ...describeEgressChange(before, after, egressNaming),
      ...(action === "disable" && topics.has(externalId) ? ["is a draft now"] : []),
    ];
    const effect = before && after && hasOtherFilters(before, after) && compareFilters(before, after);
    return { ...change, ...(effect && { effect }), notes };
  });
}

/** Another external id or namespace may lead to another Kafka topic. */
function describeEgressChange(
  before: TopicDefinition | undefined,
  after: TopicDefinition | undefined,
  naming: EgressNaming | undefined,
): string[] {
  if (after === undefined || naming === undefined) return [];
  const [from, to] = [before && naming.getName(before), naming.getName(after)];
  const fault = naming.findFault(after);
  if (fault !== undefined) return [`no events can be forwarded to its egress topic: ${fault}`];
  return from === undefined || from === to
    ? []
    : [`its events go to the Kafka topic ${to} instead of ${from}`];
}

/** Throws a PlanError, with the option to use, if a plan disables too many topics of its set. */
function requirePruneLimit(
  changes: readonly PlannedChange[],
  members: number,
  { maxDeletes }: SetPlanOptions,
): void {
  const count = changes.filter(({ action }) => action === "disable").length;
  const limit = getLimit(maxDeletes, members);
  if (count <= limit) return;
  throw new PlanError(
    `The plan would disable ${count} of the ${members} topics of the set, and at most ${limit} are allowed. ` +
      `If that is intended, use --max-deletes ${count}.`,
  );
}

function getLimit(maxDeletes: MaxDeletes | undefined, members: number): number {
  if (maxDeletes === undefined) return Math.max(10, Math.floor(members / 10));
  return "count" in maxDeletes ? maxDeletes.count : Math.floor((members * maxDeletes.percent) / 100);
}

const hasOtherFilters = (before: TopicDefinition, after: TopicDefinition): boolean =>
  before.headerQuery !== after.headerQuery || before.contentQuery !== after.contentQuery;

/** Adds what is known about events to changes of filters. */
async function addWarnings(changes: readonly PlannedChange[], source: PlanSource): Promise<PlannedChange[]> {
  const definitions = new Map<PlannedChange, TopicDefinition>();
  for (const change of changes) {
    const definition = getDefinition(change.after);
    const isChanged = change.before?.name === undefined || change.effect !== undefined;
    if (definition !== undefined && isChanged && change.effect !== "same")
      definitions.set(change, definition);
  }
  const found = new Map<PlannedChange, PlannedChange["warnings"]>();
  for (const some of splitIntoBatches([...definitions], definitionsPerCheck)) {
    const warnings = await source.findWarnings(some.map(([, definition]) => definition));
    for (const [at, [change]] of some.entries()) found.set(change, warnings[at] ?? []);
  }
  return changes.map((change) => ({ ...change, warnings: found.get(change) ?? [] }));
}
