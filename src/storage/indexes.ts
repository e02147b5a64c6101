import { MongoServerError, type Db } from "mongodb";

import { DatabaseConflict } from "../errors.ts";
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
  { collection: collections.replays, name: "replays_of_letter", key: { letter: 1 }, unique: false },
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

const namespaceExists = 48;
const duplicateKey = 11000;
const indexOptionsConflict = 85;
const indexKeySpecsConflict = 86;

/** Creates the collections and indexes that are not there. Throws DatabaseConflict when what is there conflicts with one. */
export async function ensureIndexes(db: Db): Promise<void> {
  for (const collection of Object.values(collections)) {
    try {
      await db.createCollection(collection);
    } catch (error) {
      if (!(error instanceof MongoServerError && error.code === namespaceExists)) throw error;
    }
  }
  for (const index of indexes) await ensureIndex(db, index);
}

async function ensureIndex(db: Db, { collection, key, ...options }: DeclaredIndex): Promise<void> {
  const { name } = options;
  try {
    await db.collection(collection).createIndex(key, options, {});
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
    const fields = Object.keys(key).join(", ");
    if (error.code === duplicateKey) {
      throw new DatabaseConflict(
        `The collection ${collection} holds records that share the same ${fields}, which must be unique ` +
          `(${error.message}). Remove the duplicates and start again.`,
      );
    }
    if (error.code === indexOptionsConflict || error.code === indexKeySpecsConflict) {
      throw new DatabaseConflict(
        `The collection ${collection} has another index on ${fields} or named ${name} (${error.message}). ` +
          `Drop that index and start again.`,
      );
    }
    throw error;
  }
}
