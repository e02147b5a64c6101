import { UnavailableError } from "../lib/errors.ts";
import type { ConsumerGroup } from "../routing/consumers.ts";
import { isSameDefinition } from "../topics/topic.ts";
import type { Blocked, PlannedChange } from "./plan.ts";

/** A consumer group that reads an egress topic. Undefined members are unknown. */
export interface EgressReader extends Pick<ConsumerGroup, "group" | "state"> {
  readonly members: number | undefined;
  readonly lag: number | undefined;
}

/** A stored topic, to find its readers. */
export interface ReadTopic {
  /** The sys_id. */
  readonly id: string;
  readonly externalId: string;
  readonly namespace: string;
}

/**
 * Finds the readers of the egress topics of some topics, in their order. Where several topics have one egress
 * topic there are none, since Kafka does not know for which of them it is read. Throws UnavailableError.
 */
export type FindReaders = (topics: readonly ReadTopic[]) => Promise<readonly (readonly EgressReader[])[]>;

export interface EgressReaderOptions {
  /** Undefined: no router is configured, or egress topics are shared. */
  readonly findReaders: FindReaders | undefined;
  /** Topics that are read may be disabled. */
  readonly evenIfRead: boolean;
}

/**
 * Adds to changes of events who reads them, and blocks disabling topics that are read. Throws
 * UnavailableError if that is unknown for a topic to disable.
 */
export async function addReaders(
  decisions: readonly (PlannedChange | Blocked)[],
  { findReaders, evenIfRead }: EgressReaderOptions,
): Promise<readonly (PlannedChange | Blocked)[]> {
  const changes = new Map<PlannedChange | Blocked, ReadTopic>();
  for (const one of decisions) {
    const topic = "code" in one ? undefined : findAffected(one);
    if (topic !== undefined) changes.set(one, topic);
  }
  if (findReaders === undefined || changes.size === 0) return decisions;
  const disables = [...changes.keys()].some((one) => !("code" in one) && one.action === "disable");
  let found: Awaited<ReturnType<FindReaders>>;
  try {
    found = await findReaders([...changes.values()]);
  } catch (error) {
    if (!(error instanceof UnavailableError) || (disables && !evenIfRead)) throw error;
    const note = `who reads it is unknown: ${error.message}`;
    return decisions.map((one) => ("code" in one || !changes.has(one) ? one : addNote(one, note)));
  }
  const readers = new Map([...changes.keys()].map((one, at) => [one, found[at] ?? []]));
  return decisions.map((one) => ("code" in one ? one : addFound(one, readers.get(one) ?? [], evenIfRead)));
}

/** The stored topic whose events a change affects, if any. */
function findAffected({ action, expects, before, after }: PlannedChange): ReadTopic | undefined {
  const definition = before?.definition;
  if (definition === undefined || expects === null || action === "release") return undefined;
  const isSame =
    action !== "disable" &&
    (after?.definition === undefined || isSameDefinition(definition, after.definition));
  if (isSame && after?.externalId === definition.externalId) return undefined;
  return { id: expects.id, externalId: definition.externalId, namespace: definition.namespace };
}

const maxReadersShown = 5;

function addFound(
  change: PlannedChange,
  readers: readonly EgressReader[],
  evenIfRead: boolean,
): PlannedChange | Blocked {
  if (readers.length === 0) return change;
  const more = readers.length - maxReadersShown;
  const text =
    readers.slice(0, maxReadersShown).map(formatReader).join(", ") + (more > 0 ? `, and ${more} more` : "");
  const isRead = readers.some(({ state }) => state !== "stopped");
  if (change.action === "disable" && isRead && !evenIfRead)
    return {
      externalId: change.externalId,
      code: "HAS_CONSUMERS",
      message: `is read by ${text}; with --even-if-read it is disabled`,
    };
  return addNote(change, `read by: ${text}`);
}

const addNote = (change: PlannedChange, note: string): PlannedChange => ({
  ...change,
  notes: [...change.notes, note],
});

const formatReader = ({ group, members, lag }: EgressReader): string =>
  `${group} (${members === undefined ? "members unknown" : formatMembers(members)}, lag ${lag ?? "unknown"})`;

const formatMembers = (count: number): string => (count === 1 ? "1 member" : `${count} members`);
