import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { invariant } from "@topicsync/lib/invariant";
import { newId } from "@topicsync/lib/sys-id";
import { toTopicEvent } from "./audit.ts";
import type { DefinitionChange } from "./definition-change.ts";
import { decideChanges, type ChangedTopic, type ChangeSet, type RejectedChange } from "./changes.ts";
import { readAllFilters } from "./insertion.ts";
import type { TopicWrites } from "./snapshot.ts";
import { TopicGoneError, UniqueViolationError, type FurtherWrites, type TopicTable } from "./stores.ts";
import type { ChangeLabel, Topic, TopicDefinition } from "./topic.ts";

export interface ChangeOptions {
  readonly user: string;
  /** Kept in the history. */
  readonly label?: ChangeLabel | undefined;
  /** Throws an UnknownTopicError, or any other error, if the caller may not change a topic that was found. */
  readonly check: (topic: Topic) => void;
  /** Writes of other stores that belong to the same transaction. */
  readonly further?: FurtherWrites | undefined;
  /** Nothing is stored. */
  readonly dryRun?: boolean | undefined;
}

export interface ChangedTopics {
  /** In the order of the changes. */
  readonly results: readonly ChangedTopic[];
  /** The audit events of the changes that were made. */
  readonly events: readonly AuditEvent[];
}

/** Some changes cannot be made, so none was. */
export class ChangesRejectedError extends Error {
  override readonly name = "ChangesRejectedError";
  readonly rejections: readonly RejectedChange[];

  constructor(rejections: readonly RejectedChange[]) {
    super(rejections.map(({ problem }) => problem.message).join(" "));
    this.rejections = rejections;
  }
}

interface ChangingContext {
  readonly store: TopicTable;
  readonly now: () => Date;
  readonly changed: (writes: Partial<TopicWrites>) => void | Promise<void>;
}

/** Other writers may change the topics between the look-up and the write; retry, but not forever. */
const maxAttempts = 10;

/** See `TopicService.change`. */
export async function changeStoredTopics(
  { store, now, changed }: ChangingContext,
  changes: readonly DefinitionChange[],
  { user, label, check, further, dryRun = false }: ChangeOptions,
): Promise<ChangedTopics> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const primary = store.getPrimary();
    const source = { kind: "http" as const, user, ...(label && { change: label }) };
    const found = await load(store, changes, check);
    const requireReadable = await readAllFilters(listDefinitions(changes, found.retired));
    const decision = decideChanges({ changes, ...found, source, now: now(), newId, requireReadable });
    if ("rejections" in decision) throw new ChangesRejectedError(decision.rejections);
    const { results, writes } = decision;
    const made = results.filter(({ outcome }) => outcome !== "unchanged");
    // An election may have lost what counts as done.
    if (made.length < results.length && !(await store.confirmReads(primary))) continue;
    if (dryRun || (made.length === 0 && further === undefined)) return { results, events: [] };
    try {
      await store.change(writes, further);
    } catch (error) {
      if (error instanceof UniqueViolationError || error instanceof TopicGoneError) continue;
      throw error;
    }
    await changed(writes);
    return { results, events: made.map(({ outcome, topic }) => toChangeEvent(outcome, topic)) };
  }
  throw new Error(`nothing was changed: other writers changed the topics ${maxAttempts} times`);
}

/** Those whose filters are stored anew. */
const listDefinitions = (
  changes: readonly DefinitionChange[],
  retired: ChangeSet["retired"],
): TopicDefinition[] =>
  changes.flatMap((change) => {
    if ("definition" in change && change.definition !== undefined) return [change.definition];
    if (change.kind !== "enable") return [];
    return retired.filter(({ topic }) => topic.externalId === change.externalId).map(({ topic }) => topic);
  });

const toChangeEvent = (outcome: ChangedTopic["outcome"], topic: Topic): AuditEvent =>
  toTopicEvent(outcome === "renamed" || outcome === "unchanged" ? "changed" : outcome, topic);

/** What one change did. */
export interface ChangeResult {
  readonly topic: Topic;
  readonly changed: boolean;
  readonly events: readonly AuditEvent[];
}

/** Changes one topic. Throws the reason why it cannot be changed, and UnavailableError. */
export async function changeTopic(
  topics: { change(changes: readonly DefinitionChange[], options: ChangeOptions): Promise<ChangedTopics> },
  change: DefinitionChange,
  options: ChangeOptions,
): Promise<ChangeResult> {
  try {
    const { results, events } = await topics.change([change], options);
    const [result] = results;
    invariant(result !== undefined, "each change has a result");
    return { topic: result.topic, changed: result.outcome !== "unchanged", events };
  } catch (error) {
    throw error instanceof ChangesRejectedError ? (error.rejections[0]?.problem ?? error) : error;
  }
}

/** What another topic has left under an external id does not concern its next owner. */
function isAllowed(topic: Topic, check: ChangeOptions["check"]): boolean {
  try {
    check(topic);
    return true;
  } catch {
    return false;
  }
}

/** Looks up the topics that the changes name, and the holders of the values that they want. */
async function load(
  store: TopicTable,
  changes: readonly DefinitionChange[],
  check: ChangeOptions["check"],
): Promise<Pick<ChangeSet, "stored" | "retired">> {
  const named = new Set(changes.flatMap((one) => ("externalId" in one ? [one.externalId] : [])));
  const given = listDefinitions(changes, []).map(({ externalId }) => externalId);
  // Active topics first: one that is disabled in between is then found among the retired ones.
  const active = await store.findByExternalIds([...new Set([...named, ...given])]);
  const ended = await store.findLatestRetired([...named]);
  for (const topic of active) if (named.has(topic.externalId)) check(topic);
  const held = new Set(active.map(({ externalId }) => externalId));
  const retired = ended.filter(({ topic }) => {
    if (held.has(topic.externalId)) return isAllowed(topic, check);
    check(topic);
    return true;
  });
  const holders = await store.findByCombinations(listDefinitions(changes, retired));
  return { stored: [...active, ...holders], retired };
}
