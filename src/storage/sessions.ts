import type { SessionStore } from "../sessions/session.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";

interface SessionRecord {
  _id: string;
  user_name: string;
  password_digest: string;
  created_on: Date;
  expires_on: Date;
}

/** The store of the console's sessions in MongoDB, which removes them itself some time after they are over. */
export function createSessionStore(database: Database): SessionStore {
  const sessions = database.collection<SessionRecord>(collections.sessions);
  return {
    insert: ({ digest, user, passwordDigest, createdOn, expiresOn }) =>
      database.run(async () => {
        await sessions.insertOne({
          _id: digest,
          user_name: user,
          password_digest: passwordDigest,
          created_on: createdOn,
          expires_on: expiresOn,
        });
      }),

    find: (digest) =>
      database.run(async () => {
        const record = await sessions.findOne({ _id: digest });
        if (record === null) return undefined;
        return {
          digest: record._id,
          user: record.user_name,
          passwordDigest: record.password_digest,
          createdOn: record.created_on,
          expiresOn: record.expires_on,
        };
      }),

    remove: (digest) =>
      database.run(async () => {
        await sessions.deleteOne({ _id: digest });
      }),
  };
}
