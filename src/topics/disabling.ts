import { RejectionError } from "../lib/errors.ts";
import { getUpdateTime } from "../lib/update-time.ts";
import { formatRecordPosition } from "../sync/records.ts";
import { insertTopic, requireReadableFilters } from "./insertion.ts";
import { noWrites, type TopicWrites } from "./snapshot.ts";
import { TopicGoneError, type TopicStore } from "./stores.ts";
import { externalIdFault, type AnnouncementSource, type RetiredTopic, type Topic } from "./topic.ts";

/** No topic has this external id, neither an active nor a disabled one. */
export class UnknownTopicError extends Error {
  override readonly name = "UnknownTopicError";
}

/** The result of disabling or enabling a topic. */
export interface Switched {
  readonly topic: Topic;
  /** False when the topic already was disabled, or enabled. */
  readonly changed: boolean;
}

interface DisablingContext {
  readonly store: TopicStore;
  readonly now: () => Date;
  /** Called with what was written, once it is stored. */
  readonly changed: (writes: Partial<TopicWrites>) => void;
  /** Throws if the caller may not change a topic. */
  readonly check: ((topic: Topic) => void) | undefined;
}

/** Other writers may change the topic between the look-up and the write; retry, but not forever. */
const maxAttempts = 10;

/** See `TopicService.disable`. */
export async function disableStoredTopic(
  { store, now, changed, check }: DisablingContext,
  externalId: string,
  user: string,
): Promise<Switched> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const primary = store.getPrimary();
    const { active, last } = await find(store, externalId);
    const found = active ?? last?.topic;
    if (found !== undefined) check?.(found);
    if (active === undefined) {
      if (!(await store.confirmReads(primary))) continue;
      if (last === undefined) throw createUnknownTopicError(externalId);
      return { topic: last.topic, changed: false };
    }
    if (active.source.kind === "announcement") throw createDisableRejection(externalId, active.source);
    const disabled: RetiredTopic = { topic: active, retiredOn: now(), retiredBy: { kind: "http", user } };
    if (await store.retire(disabled)) {
      changed({ retired: [disabled] });
      return { topic: active, changed: true };
    }
  }
  throw createConflictError(externalId, "disabled");
}

/** See `TopicService.enable`. */
export async function enableStoredTopic(context: DisablingContext, externalId: string): Promise<Switched> {
  const { store, check } = context;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const primary = store.getPrimary();
    const { active, last } = await find(store, externalId);
    for (const found of [active, last?.topic]) if (found !== undefined) check?.(found);
    const disabled = last?.retiredBy.kind === "http" ? last : undefined;
    // Where another topic has taken the external id, the store rejects the disabled one, with the reason.
    if (active !== undefined && (disabled === undefined || disabled.topic.id === active.id)) {
      if (!(await store.confirmReads(primary))) continue;
      return { topic: active, changed: false };
    }
    if (last?.retiredBy.kind === "announcement") throw createEnableRejection(externalId, last.retiredBy);
    if (disabled === undefined) throw createUnknownTopicError(externalId);
    const restored = await restore(context, disabled);
    if (restored !== undefined) return restored;
  }
  throw createConflictError(externalId, "enabled");
}

/** Looks up the active topic first: one that is retired in between is then found among the retired ones. */
async function find(
  store: TopicStore,
  externalId: string,
): Promise<{ active: Topic | undefined; last: RetiredTopic | undefined }> {
  const [active] = await store.findByExternalIds([externalId]);
  const [last] = await store.findLatestRetired([externalId]);
  return { active, last };
}

/** A topic that is enabled again begins after its retirement, also by another clock. */
export const getEnableTime = (now: Date, { topic, retiredOn }: RetiredTopic): Date =>
  getUpdateTime(getUpdateTime(now, topic.updatedOn), retiredOn);

/** Returns undefined when another call enabled it, or freed its external id: the caller looks again. */
async function restore(
  { store, now, changed }: DisablingContext,
  disabled: RetiredTopic,
): Promise<Switched | undefined> {
  const { topic } = disabled;
  requireReadableFilters(topic);
  const insert = (created: Topic): Promise<void> =>
    store.change({ ...noWrites, created: [created], enabled: [disabled] });
  try {
    const stored = await insertTopic({ ...store, insert }, () => ({
      ...topic,
      version: topic.version + 1,
      updatedOn: getEnableTime(now(), disabled),
    }));
    changed({ created: [stored] });
    return { topic: stored, changed: true };
  } catch (error) {
    if (error instanceof TopicGoneError) return undefined;
    if (!(error instanceof RejectionError)) throw error;
    const [holder] = await store.findByExternalIds([topic.externalId]);
    const isFree = holder === undefined && error.code === "DUPLICATE_EXTERNAL_ID";
    if (isFree || holder?.id === topic.id) return undefined;
    throw error;
  }
}

const createUnknownTopicError = (externalId: string): UnknownTopicError =>
  new UnknownTopicError(`there is no topic with the external id "${externalId}"`);

const createConflictError = (externalId: string, wanted: string): Error =>
  new Error(`the topic "${externalId}" was not ${wanted}: other writers changed it ${maxAttempts} times`);

export const createDisableRejection = (externalId: string, source: AnnouncementSource): RejectionError =>
  new RejectionError(
    "EXTERNAL_ID_TAKEN",
    `The topic "${externalId}" belongs to the channel, which announced it (${formatRecordPosition(source)}). ` +
      `To retire it, send a record with its external id as the key and without a value to ${source.topic}.`,
    [externalIdFault],
  );

export const createEnableRejection = (externalId: string, source: AnnouncementSource): RejectionError =>
  new RejectionError(
    "EXTERNAL_ID_TAKEN",
    `The topic "${externalId}" belongs to the channel, which retired it (${formatRecordPosition(source)}). ` +
      "To bring it back, announce it again (`topicsync announce FILE`).",
    [externalIdFault],
  );
