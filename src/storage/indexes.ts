import {
  MongoServerError,
  WriteConcern,
  type Db,
  type Document,
  type IndexDescription,
  type IndexDescriptionInfo,
} from "mongodb";

import { ConfigurationError, DatabaseConflictError, getErrorMessage } from "@topicsync/lib/errors";
import { classify, repeatOnce } from "./database/failures.ts";
import { collections, type CollectionName } from "./names.ts";

interface DeclaredIndex {
  readonly collection: CollectionName;
  readonly name: string;
  readonly key: Readonly<Record<string, 1>>;
  readonly unique: boolean;
  /** MongoDB deletes a record this long after the time in its only key field. */
  readonly expireAfterSeconds?: number;
}

/** All indexes besides `_id_`, each with the queries that need it. Their costs are in docs/scaling.md. */
export const indexes: readonly DeclaredIndex[] = [
  // Topics by external id: batches, HTTP and the command line; lists in that order, searches by prefix.
  { collection: collections.topics, name: "unique_topic_id", key: { topic_id: 1 }, unique: true },
  // Lists for readers whose rights are limited to namespaces, and by namespace.
  {
    collection: collections.topics,
    name: "topics_by_namespace",
    key: { namespace: 1, topic_id: 1 },
    unique: false,
  },
  // Topics by combination: batches and validation; lists by name, searches by prefix of the name.
  {
    collection: collections.topics,
    name: "unique_topic_combination",
    key: { topic_name: 1, namespace: 1, header_query: 1, content_query: 1 },
    unique: true,
  },
  // Lists of retired and of disabled topics, the latest first; the in-memory index without change streams.
  {
    collection: collections.retiredTopics,
    name: "retired_by_time",
    key: { "retired_by.kind": 1, retired_on: 1, sys_id: 1 },
    unique: false,
  },
  // The same for readers whose rights are limited to namespaces, and by namespace.
  {
    collection: collections.retiredTopics,
    name: "retired_by_namespace",
    key: { "retired_by.kind": 1, namespace: 1, retired_on: 1, sys_id: 1 },
    unique: false,
  },
  // The last retirement of a topic: enabling it, showing it, and whether it supersedes a dead letter. Its
  // history, the latest retirement first; the topics at a time.
  {
    collection: collections.retiredTopics,
    name: "retired_by_topic",
    key: { topic_id: 1, retired_on: 1, version: 1, sys_id: 1 },
    unique: false,
  },
  // Deletes retirements of topics that are active again, after HISTORY_RETENTION_DAYS.
  {
    collection: collections.retiredTopics,
    name: "retired_over",
    key: { expires_on: 1 },
    unique: false,
    expireAfterSeconds: 0,
  },
  // The history of a topic, the latest version first; the topics at a time.
  {
    collection: collections.topicVersions,
    name: "versions_by_topic",
    key: { topic_id: 1, valid_to: 1, version: 1, sys_id: 1 },
    unique: false,
  },
  // Deletes versions after HISTORY_RETENTION_DAYS.
  {
    collection: collections.topicVersions,
    name: "versions_over",
    key: { expires_on: 1 },
    unique: false,
    expireAfterSeconds: 0,
  },
  // Searches by details, each in the order of external ids; the members of a set.
  ...["namespace", "owner", "tags", "labels", "lifecycle", "set", "words"].map((field): DeclaredIndex => ({
    collection: collections.topicDetails,
    name: `details_by_${field}`,
    key: { [field]: 1, _id: 1 },
    unique: false,
  })),
  // What the history of a topic says about its details, the latest first; the details at a time.
  {
    collection: collections.topicDescriptions,
    name: "descriptions_by_topic",
    key: { topic_id: 1, changed_on: 1, _id: 1 },
    unique: false,
  },
  // Deletes them after HISTORY_RETENTION_DAYS.
  {
    collection: collections.topicDescriptions,
    name: "descriptions_over",
    key: { expires_on: 1 },
    unique: false,
    expireAfterSeconds: 0,
  },
  // The log of a topic id.
  {
    collection: collections.logs,
    name: "unique_log",
    key: { kafka_topic: 1, kafka_topic_id: 1 },
    unique: true,
  },
  // The last log of a Kafka topic, and the log of an epoch.
  {
    collection: collections.logs,
    name: "unique_log_epoch",
    key: { kafka_topic: 1, epoch: 1 },
    unique: true,
  },
  // Lists of dead letters, those of a time, and those that Kafka has deleted.
  {
    collection: collections.deadLetters,
    name: "dead_letters_by_rank",
    key: { kafka_topic: 1, rank: 1, partition: 1, offset: 1 },
    unique: false,
  },
  // Lists of dead letters with a code, and their number.
  {
    collection: collections.deadLetters,
    name: "dead_letters_by_code",
    key: { kafka_topic: 1, code: 1, rank: 1, partition: 1, offset: 1 },
    unique: false,
  },
  // Lists of dead letters for readers whose rights are limited to namespaces.
  {
    collection: collections.deadLetters,
    name: "dead_letters_by_namespace",
    key: { kafka_topic: 1, namespace: 1, rank: 1, partition: 1, offset: 1 },
    unique: false,
  },
  // One replay per attempt: the index rejects the second of two concurrent senders.
  {
    collection: collections.replays,
    name: "unique_replay_attempt",
    key: { letter: 1, attempt: 1 },
    unique: true,
  },
  // Whether the announcement that last changed a topic is a replay.
  {
    collection: collections.replays,
    name: "replays_by_position",
    key: { "sent_to.topic": 1, "sent_to.partition": 1, "sent_to.offset": 1 },
    unique: false,
  },
  // Applications and platforms by name.
  { collection: collections.applications, name: "unique_application_name", key: { name: 1 }, unique: true },
  { collection: collections.platforms, name: "unique_platform_name", key: { name: 1 }, unique: true },
  // Registrations and push feedback. It begins with the token, so that the collection can be sharded by it.
  {
    collection: collections.installations,
    name: "unique_installation",
    key: { token: 1, application: 1, platform: 1 },
    unique: true,
  },
  // removeInstallation: the tokens of a user, or of all users, for an application and platform.
  {
    collection: collections.installations,
    name: "installation_owner",
    key: { application: 1, platform: 1, user: 1 },
    unique: false,
  },
  // Users by name: authentication, and lists in that order.
  { collection: collections.users, name: "unique_user_name", key: { user_name: 1 }, unique: true },
  // The sessions of a user, which end when the user is disabled.
  { collection: collections.sessions, name: "sessions_by_user", key: { user_name: 1 }, unique: false },
  // API keys by digest: authentication.
  { collection: collections.keys, name: "unique_key_digest", key: { digest: 1 }, unique: true },
  // Lists of API keys. At most two keys have a name: one per slot.
  { collection: collections.keys, name: "unique_key_slot", key: { name: 1, slot: 1 }, unique: true },
  // Deletes API keys 30 days after they have expired.
  {
    collection: collections.keys,
    name: "keys_over",
    key: { expires_on: 1 },
    unique: false,
    expireAfterSeconds: 30 * 24 * 60 * 60,
  },
  // Deletes expired sessions.
  {
    collection: collections.sessions,
    name: "sessions_over",
    key: { expires_on: 1 },
    unique: false,
    expireAfterSeconds: 0,
  },
];

const namespaceNotFound = 26;
const namespaceExists = 48;
const indexOptionsConflict = 85;
const indexKeySpecsConflict = 86;

/**
 * Creates the missing collections and indexes. Returns whether an index was missing; not every product tells.
 * A user without the privilege to create them may connect if none is missing. Throws DatabaseConflictError
 * when existing records or indexes conflict, ConfigurationError when the user may not create what is missing.
 */
export async function ensureIndexes(
  db: Db,
  names: readonly CollectionName[] = Object.values(collections),
  writeConcern = db.writeConcern,
): Promise<boolean> {
  let wasMissing = false;
  try {
    for (const collection of names) {
      const declared = indexes.filter((index) => index.collection === collection);
      if (declared.length === 0) await ensureCollection(db, collection);
      else if (await ensureCollectionIndexes(db, declared, writeConcern)) wasMissing = true;
    }
    return wasMissing;
  } catch (error) {
    if (classify(error) !== "forbidden") throw error;
    const missing = await findMissing(db, names);
    if (missing.length === 0) return false;
    throw new ConfigurationError(
      `The user of MONGODB_URI may not create collections and indexes (${getErrorMessage(error)}), and these are missing: ` +
        `${missing.join(", ")}. Create them, or grant the user the privileges in docs/deployment.md.`,
      { cause: error },
    );
  }
}

async function ensureCollection(db: Db, name: CollectionName): Promise<void> {
  try {
    await db.createCollection(name);
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === namespaceExists)) throw error;
  }
}

/** The parts of the response that are read here; mongos has one for each shard. */
interface CreateIndexesResponse {
  readonly numIndexesBefore?: number;
  readonly numIndexesAfter?: number;
  readonly raw?: Readonly<Record<string, CreateIndexesResponse>>;
}

/**
 * Sends one command for the whole collection, which also creates it: a start waits for each response. Returns
 * whether an index was missing.
 */
async function ensureCollectionIndexes(
  db: Db,
  declared: readonly DeclaredIndex[],
  writeConcern: WriteConcern | undefined,
): Promise<boolean> {
  const command: Document = { createIndexes: declared[0]?.collection, indexes: declared.map(toDescription) };
  if (writeConcern !== undefined) WriteConcern.apply(command, writeConcern);
  try {
    return hasAdded(await repeatOnce(() => db.command(command)));
  } catch (error) {
    if (!isConflict(error)) throw error;
    // The response does not say which index is in conflict.
    for (const index of declared) await ensureIndex(db, index);
    return true;
  }
}

const hasAdded = ({ numIndexesBefore, numIndexesAfter, raw = {} }: CreateIndexesResponse): boolean =>
  Number(numIndexesAfter) > Number(numIndexesBefore) || Object.values(raw).some(hasAdded);

const toDescription = ({ key, name, unique, expireAfterSeconds }: DeclaredIndex): IndexDescription => ({
  key,
  name,
  unique,
  ...(expireAfterSeconds !== undefined && { expireAfterSeconds }),
});

const isConflict = (error: unknown): error is MongoServerError =>
  error instanceof MongoServerError &&
  (classify(error) === "duplicate" ||
    error.code === indexOptionsConflict ||
    error.code === indexKeySpecsConflict);

async function ensureIndex(db: Db, index: DeclaredIndex): Promise<void> {
  const { collection, key, name } = index;
  try {
    await db.collection(collection).createIndexes([toDescription(index)]);
  } catch (error) {
    if (!isConflict(error)) throw error;
    const fields = Object.keys(key).join(", ");
    throw new DatabaseConflictError(
      classify(error) === "duplicate"
        ? `The collection ${collection} contains records with the same ${fields}, which must be unique ` +
            `(${error.message}). Remove the duplicates and start again.`
        : `The collection ${collection} has another index on ${fields} or named ${name} (${error.message}). ` +
            `Drop that index and start again.`,
    );
  }
}

/** Returns the indexes that the database lacks, as `collection.name`. */
async function findMissing(db: Db, names: readonly CollectionName[]): Promise<string[]> {
  const missing: string[] = [];
  for (const collection of names) {
    const existing = await listIndexes(db, collection);
    for (const index of indexes)
      if (index.collection === collection && !existing.some((one) => isEquivalent(one, index)))
        missing.push(`${collection}.${index.name}`);
  }
  return missing;
}

async function listIndexes(db: Db, collection: CollectionName): Promise<IndexDescriptionInfo[]> {
  try {
    return await db.collection(collection).indexes();
  } catch (error) {
    if (error instanceof MongoServerError && error.code === namespaceNotFound) return [];
    throw error;
  }
}

/** Whether an index serves as the declared one, and queries can use it; its name may differ. */
const isEquivalent = (
  one: IndexDescriptionInfo,
  { key, unique, expireAfterSeconds }: DeclaredIndex,
): boolean =>
  JSON.stringify(one.key) === JSON.stringify(key) &&
  one.partialFilterExpression === undefined &&
  one.sparse !== true &&
  one.hidden !== true &&
  (one.unique ?? false) === unique &&
  one.expireAfterSeconds === expireAfterSeconds;
