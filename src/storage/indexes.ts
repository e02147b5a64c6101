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
  /** See `expiring`. */
  readonly expireAfterSeconds?: number;
}

type Declaration = Omit<DeclaredIndex, "collection" | "name">;

const index = (...fields: readonly string[]): Declaration => ({
  key: Object.fromEntries(fields.map((field) => [field, 1] as const)),
  unique: false,
});

const unique = (...fields: readonly string[]) => ({ ...index(...fields), unique: true });

/** MongoDB deletes a record this long after the time in the field. */
const expiring = (field: string, expireAfterSeconds = 0) => ({ ...index(field), expireAfterSeconds });

/** By collection, each index with the queries that need it. Their costs are in docs/scaling.md. */
const declared: Partial<Record<keyof typeof collections, Readonly<Record<string, Declaration>>>> = {
  topics: {
    // Topics by external id: batches, HTTP and the command line; lists in that order, searches by prefix.
    unique_topic_id: unique("topic_id"),
    // Lists for readers whose rights are limited to namespaces, and by namespace.
    topics_by_namespace: index("namespace", "topic_id"),
    // Topics by combination: batches and validation; lists by name, searches by prefix of the name.
    unique_topic_combination: unique("topic_name", "namespace", "header_query", "content_query"),
  },
  retiredTopics: {
    // Lists of retired and of disabled topics, the latest first; the in-memory index without change streams.
    retired_by_time: index("retired_by.kind", "retired_on", "sys_id"),
    // The same for readers whose rights are limited to namespaces, and by namespace.
    retired_by_namespace: index("retired_by.kind", "namespace", "retired_on", "sys_id"),
    // The last retirement of a topic: enabling it, showing it, and whether it supersedes a dead letter. Its
    // history, the latest retirement first; the topics at a time.
    retired_by_topic: index("topic_id", "retired_on", "version", "sys_id"),
    // Deletes retirements of topics that are active again, after HISTORY_RETENTION_DAYS.
    retired_over: expiring("expires_on"),
  },
  topicVersions: {
    // The history of a topic, the latest version first; the topics at a time.
    versions_by_topic: index("topic_id", "valid_to", "version", "sys_id"),
    // Deletes versions after HISTORY_RETENTION_DAYS.
    versions_over: expiring("expires_on"),
  },
  // Searches by details, each in the order of external ids; the members of a set.
  topicDetails: Object.fromEntries(
    ["namespace", "owner", "tags", "labels", "lifecycle", "set", "words"].map((field) => [
      `details_by_${field}`,
      index(field, "_id"),
    ]),
  ),
  topicDescriptions: {
    // What the history of a topic says about its details, the latest first; the details at a time.
    descriptions_by_topic: index("topic_id", "changed_on", "_id"),
    // Deletes them after HISTORY_RETENTION_DAYS.
    descriptions_over: expiring("expires_on"),
  },
  logs: {
    // The log of a topic id.
    unique_log: unique("kafka_topic", "kafka_topic_id"),
    // The last log of a Kafka topic, and the log of an epoch.
    unique_log_epoch: unique("kafka_topic", "epoch"),
  },
  deadLetters: {
    // Lists of dead letters, those of a time, and those that Kafka has deleted.
    dead_letters_by_rank: index("kafka_topic", "rank", "partition", "offset"),
    // Lists of dead letters with a code, and their number.
    dead_letters_by_code: index("kafka_topic", "code", "rank", "partition", "offset"),
    // Lists of dead letters for readers whose rights are limited to namespaces.
    dead_letters_by_namespace: index("kafka_topic", "namespace", "rank", "partition", "offset"),
    // The same with a code, and their number.
    dead_letters_by_namespace_and_code: index(
      ...["kafka_topic", "namespace", "code", "rank", "partition", "offset"],
    ),
  },
  replays: {
    // One replay per attempt: the index rejects the second of two concurrent senders.
    unique_replay_attempt: unique("letter", "attempt"),
    // Whether the announcement that last changed a topic is a replay.
    replays_by_position: index("sent_to.topic", "sent_to.partition", "sent_to.offset"),
  },
  backfills: {
    // One running backfill per topic; backfills that are to be run.
    unique_running_backfill: unique("slot", "topic_id"),
    // When a backfill of a topic was cancelled last.
    backfills_by_topic: index("topic_id", "ended_on"),
    // Lists of backfills, the latest first.
    backfills_by_time: index("requested_on", "_id"),
    // Deletes backfills 30 days after their end.
    backfills_over: expiring("ended_on", 30 * 24 * 60 * 60),
  },
  // Applications and platforms by name.
  applications: { unique_application_name: unique("name") },
  platforms: { unique_platform_name: unique("name") },
  installations: {
    // Registrations and push feedback. It begins with the token, so that the collection can be sharded by it.
    unique_installation: unique("token", "application", "platform"),
    // removeInstallation: the tokens of a user, or of all users, for an application and platform.
    installation_owner: index("application", "platform", "user"),
  },
  // Users by name: authentication, and lists in that order.
  users: { unique_user_name: unique("user_name") },
  sessions: {
    // The sessions of a user, which end when the user is disabled.
    sessions_by_user: index("user_name"),
    // Deletes expired sessions.
    sessions_over: expiring("expires_on"),
  },
  keys: {
    // API keys by digest: authentication.
    unique_key_digest: unique("digest"),
    // Lists of API keys. At most two keys have a name: one per slot.
    unique_key_slot: unique("name", "slot"),
    // Deletes API keys 30 days after they have expired.
    keys_over: expiring("expires_on", 30 * 24 * 60 * 60),
  },
};

/** All indexes besides `_id_`. */
export const indexes: readonly DeclaredIndex[] = Object.entries(declared).flatMap(([collection, ofIt]) =>
  Object.entries(ofIt).map(([name, one]) => ({
    collection: collections[collection as keyof typeof collections],
    name,
    ...one,
  })),
);

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
