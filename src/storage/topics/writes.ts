import type { Collection, Filter } from "mongodb";

import type { TopicWrites } from "../../topics/snapshot.ts";
import { TopicGoneError, UniqueViolationError } from "../../topics/stores.ts";
import type { Topic, TopicDefinition } from "../../topics/topic.ts";
import { maxUpdateMs } from "../database/client-options.ts";
import type { Database } from "../database/database.ts";
import { isDuplicate } from "../database/failures.ts";
import { collections } from "../names.ts";
import type { SessionOptions } from "../positions.ts";
import { insertAll } from "../update-command.ts";
import {
  toRetiredId,
  toRetiredRecord,
  toTopicRecord,
  toVersionFilter,
  type RetiredRecord,
  type TopicRecord,
} from "./records.ts";
import { toExpiry, toVersionRecord, type VersionRecord } from "./versions.ts";

/** Without a transaction, one part of a large insertion is stored while the next is still being encoded. */
const topicsPerInsert = 500;

/** Where topics are written. */
export interface TopicCollections {
  readonly database: Database;
  readonly topics: Collection<TopicRecord>;
  readonly retired: Collection<RetiredRecord>;
  readonly versions: Collection<VersionRecord>;
  /** How long replaced versions are kept; undefined: for ever. */
  readonly retentionDays: number | undefined;
}

export const openTopicCollections = (
  database: Database,
  retentionDays: number | undefined,
): TopicCollections => ({
  database,
  topics: database.collection<TopicRecord>(collections.topics),
  retired: database.collection<RetiredRecord>(collections.retiredTopics),
  versions: database.collection<VersionRecord>(collections.topicVersions),
  retentionDays,
});

/** Whether writes claim unique values. */
export const claimsValues = ({ updated, created }: TopicWrites): boolean =>
  updated.length > 0 || created.length > 0;

interface WriteOptions extends SessionOptions {
  /** Finds a stored topic if it is what was read; by its version, if not given. */
  readonly toFilter?: (topic: Topic) => Filter<TopicRecord>;
}

/**
 * Writes what was decided. Throws TopicGoneError if a stored topic is not what was read. Without a
 * transaction, history comes first: readers ignore a version that is still the stored one.
 */
export async function writeTopics(
  writes: TopicWrites,
  stores: TopicCollections,
  { toFilter = toVersionFilter, ...options }: WriteOptions,
): Promise<void> {
  const { topics, retired, versions, retentionDays } = stores;
  const { replaced, removed, retired: newlyRetired, updated, created } = writes;
  if (replaced.length > 0) {
    await versions.bulkWrite(
      replaced.map((one) => {
        const { _id, ...replacement } = toVersionRecord(one, retentionDays);
        return { replaceOne: { filter: { _id }, replacement, upsert: true } };
      }),
      options,
    );
  }
  if (newlyRetired.length > 0) {
    await retired.bulkWrite(
      newlyRetired.map((one) => ({
        replaceOne: { filter: { _id: toRetiredId(one) }, replacement: toRetiredRecord(one), upsert: true },
      })),
      options,
    );
  }
  if (removed.length > 0) {
    const { deletedCount } = await topics.bulkWrite(
      removed.map((topic) => ({ deleteOne: { filter: toFilter(topic) } })),
      options,
    );
    if (deletedCount < removed.length) throw createGoneError();
  }
  if (updated.length > 0) {
    const stored = new Map(replaced.filter((one) => !one.isTransient).map(({ topic }) => [topic.id, topic]));
    const { matchedCount } = await topics.bulkWrite(
      updated.map((topic) => {
        const { _id, ...replacement } = toTopicRecord(topic);
        return { replaceOne: { filter: toFilter(stored.get(_id) ?? topic), replacement } };
      }),
      { ...options, ordered: true },
    );
    if (matchedCount < updated.length) throw createGoneError();
  }
  if (created.length > 0) await insertTopics(created, stores, options);
  await expireRetirements(created, stores, options);
}

/** What was retired before is history once the topic is active again. */
export async function expireRetirements(
  created: readonly Topic[],
  { retired, retentionDays }: TopicCollections,
  options: SessionOptions,
): Promise<void> {
  const [first] = created;
  if (first === undefined || retentionDays === undefined) return;
  const ids = created.map(({ externalId }) => externalId);
  await retired.updateMany(
    { topic_id: { $in: ids }, expires_on: { $exists: false } },
    { $set: toExpiry(first.updatedOn, retentionDays) },
    { ...options, maxTimeMS: maxUpdateMs },
  );
}

async function insertTopics(
  created: readonly Topic[],
  { database, topics }: TopicCollections,
  options: SessionOptions,
): Promise<void> {
  if (options.session !== undefined) {
    for (const some of splitBySize(created)) await insertAll(database, topics, some, options);
    return;
  }
  const insertions = [...splitBySize(created, topicsPerInsert)].map((some) =>
    insertAll(database, topics, some, options),
  );
  // No insertion may still be in progress when the batch is decided again.
  await Promise.allSettled(insertions);
  await Promise.all(insertions);
}

/** Records of this many characters take at most 12 MiB. */
const maxCharactersPerInsert = 4 * 1024 * 1024;
/** For the names, numbers and times of a record, and for its source. */
const overheadCharacters = 500;

function* splitBySize(topics: readonly Topic[], maxTopics = Infinity): Generator<TopicRecord[]> {
  let some: TopicRecord[] = [];
  let characters = 0;
  for (const topic of topics) {
    const { previous, formerIds = [] } = topic;
    const former = (previous === undefined ? 0 : measureTexts(previous)) + formerIds.join("").length;
    const added = overheadCharacters + topic.externalId.length + measureTexts(topic) + former;
    if (some.length === maxTopics || (some.length > 0 && characters + added > maxCharactersPerInsert)) {
      yield some;
      some = [];
      characters = 0;
    }
    some.push(toTopicRecord(topic));
    characters += added;
  }
  yield some;
}

const measureTexts = (topic: Omit<TopicDefinition, "externalId">): number =>
  topic.name.length + topic.namespace.length + topic.headerQuery.length + topic.contentQuery.length;

export const createGoneError = (): TopicGoneError =>
  new TopicGoneError("a topic was changed since it was read");

export const toViolation = (error: unknown): unknown =>
  isDuplicate(error) ? new UniqueViolationError(error) : error;
