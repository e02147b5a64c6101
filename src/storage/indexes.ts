import { MongoServerError, type Db, type IndexDescriptionInfo } from "mongodb";

import { ConfigurationError, DatabaseConflictError, getErrorMessage } from "../lib/errors.ts";
import { classify } from "./failures.ts";
import { collections, type CollectionName } from "./names.ts";
import { signpostIds } from "./signposts.ts";

interface DeclaredIndex {
  readonly collection: CollectionName;
  readonly name: string;
  readonly key: Readonly<Record<string, 1>>;
  readonly unique: boolean;
  /** MongoDB removes a record so long after the time in its only key. */
  readonly expireAfterSeconds?: number;
  /** It has these records only. */
  readonly partialFilterExpression?: Readonly<Record<string, object>>;
}

/** Every index of the database: the whole list, beside MongoDB's own `_id_`. */
export const indexes: readonly DeclaredIndex[] = [
  { collection: collections.topics, name: "unique_topic_id", key: { topic_id: 1 }, unique: true },
  {
    collection: collections.topics,
    name: "unique_topic_combination",
    key: { topic_name: 1, namespace: 1, header_query: 1, content_query: 1 },
    unique: true,
  },
  // The topics that changed last.
  {
    collection: collections.topics,
    name: "topics_by_change",
    key: { sys_updated_on: 1, topic_id: 1 },
    unique: false,
  },
  // The signposts of lists; one of 256 topics is in it.
  {
    collection: collections.topics,
    name: "topic_signposts",
    key: { topic_id: 1 },
    unique: false,
    partialFilterExpression: { _id: signpostIds },
  },
  // Those that the channel retired and those that a user disabled, the last first.
  {
    collection: collections.retiredTopics,
    name: "retired_by_time",
    key: { "retired_by.kind": 1, retired_on: 1, _id: 1 },
    unique: false,
  },
  // Their signposts.
  {
    collection: collections.retiredTopics,
    name: "retired_signposts",
    key: { sys_id: 1 },
    unique: false,
    partialFilterExpression: { sys_id: signpostIds },
  },
  // Whether a dead letter's topic was retired after it.
  { collection: collections.retiredTopics, name: "retired_topic_id", key: { topic_id: 1 }, unique: false },
  // The replays of a dead letter; of two that send the same attempt, one is let through.
  {
    collection: collections.replays,
    name: "unique_replay_attempt",
    key: { letter: 1, attempt: 1 },
    unique: true,
  },
  {
    collection: collections.applications,
    name: "unique_application_name",
    key: { name: 1 },
    unique: true,
  },
  { collection: collections.platforms, name: "unique_platform_name", key: { name: 1 }, unique: true },
  {
    collection: collections.installations,
    name: "unique_installation",
    // It starts with the token, so that the collection can be sharded by it.
    key: { token: 1, application: 1, platform: 1 },
    unique: true,
  },
  {
    collection: collections.installations,
    name: "installation_owner",
    // removeInstallation: a user's tokens for an application and platform; an administrator's: everybody's.
    key: { application: 1, platform: 1, user: 1 },
    unique: false,
  },
  { collection: collections.users, name: "unique_user_name", key: { user_name: 1 }, unique: true },
  {
    collection: collections.sessions,
    // All sessions of a user, which end when the user is disabled.
    name: "sessions_by_user",
    key: { user_name: 1 },
    unique: false,
  },
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

/** A partial index only makes lists faster, and not every product has them. */
const isRequired = ({ partialFilterExpression }: DeclaredIndex): boolean =>
  partialFilterExpression === undefined;

/**
 * Creates the collections and indexes that are not there, and tells which index the product refuses that can be done without. A
 * user who may not create any is fine where nothing is missing. Throws DatabaseConflictError when what is there conflicts with one,
 * ConfigurationError when something is missing that the user may not create.
 */
export async function ensureIndexes(
  db: Db,
  refused: (index: string, error: unknown) => void = () => undefined,
): Promise<void> {
  try {
    for (const collection of Object.values(collections)) await ensureCollection(db, collection);
    for (const index of indexes) await ensureIndex(db, index, refused);
  } catch (error) {
    if (classify(error) !== "forbidden") throw error;
    const missing = await findMissing(db);
    if (missing.length === 0) return;
    throw new ConfigurationError(
      `The user of MONGODB_URI may not create collections and indexes (${getErrorMessage(error)}), and these are missing: ` +
        `${missing.join(", ")}. Create them, or give the user the privileges that docs/deployment.md lists.`,
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

async function ensureIndex(
  db: Db,
  index: DeclaredIndex,
  refused: (index: string, error: unknown) => void,
): Promise<void> {
  const { collection, key, ...options } = index;
  const { name } = options;
  try {
    await db.collection(collection).createIndex(key, options, {});
  } catch (error) {
    const kind = classify(error);
    if (!isRequired(index) && (kind === "unsupported" || kind === "unforeseen")) {
      refused(name, error);
      return;
    }
    if (!(error instanceof MongoServerError)) throw error;
    const fields = Object.keys(key).join(", ");
    if (kind === "duplicate") {
      throw new DatabaseConflictError(
        `The collection ${collection} holds records that share the same ${fields}, which must be unique ` +
          `(${error.message}). Remove the duplicates and start again.`,
      );
    }
    if (error.code === indexOptionsConflict || error.code === indexKeySpecsConflict) {
      throw new DatabaseConflictError(
        `The collection ${collection} has another index on ${fields} or named ${name} (${error.message}). ` +
          `Drop that index and start again.`,
      );
    }
    throw error;
  }
}

/** The required indexes that the database lacks, as `collection.name`. */
async function findMissing(db: Db): Promise<string[]> {
  const missing: string[] = [];
  for (const collection of Object.values(collections)) {
    const existing = await listIndexes(db, collection);
    for (const index of indexes)
      if (index.collection === collection && isRequired(index) && !existing.some((one) => isLike(one, index)))
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

/** Whether an index does what the declared one does, whatever it is called. */
const isLike = (one: IndexDescriptionInfo, { key, unique, expireAfterSeconds }: DeclaredIndex): boolean =>
  JSON.stringify(one.key) === JSON.stringify(key) &&
  one.partialFilterExpression === undefined &&
  (one.unique ?? false) === unique &&
  one.expireAfterSeconds === expireAfterSeconds;
