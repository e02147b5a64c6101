import type { SessionBasis, SessionStore } from "../sessions/session.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";

interface SessionRecord {
  _id: string;
  user_name: string;
  created_on: Date;
  expires_on: Date;
  /** Of a stored user. */
  password_digest?: string;
  /** Of a user of an OpenID provider, and so are the roles. */
  issuer?: string;
  roles?: readonly string[];
}

/** The store of the console's sessions in MongoDB, which removes them itself some time after they are over. */
export function createSessionStore(database: Database): SessionStore {
  const sessions = database.collection<SessionRecord>(collections.sessions);
  return {
    insert: ({ digest, user, ground, createdOn, expiresOn }) =>
      database.run(async () => {
        await sessions.insertOne({
          _id: digest,
          user_name: user,
          created_on: createdOn,
          expires_on: expiresOn,
          ...("issuer" in ground
            ? { issuer: ground.issuer, roles: ground.roles }
            : { password_digest: ground.passwordDigest }),
        });
      }),

    find: (digest) =>
      database.run(async () => {
        const record = await sessions.findOne({ _id: digest });
        if (record === null) return undefined;
        return {
          digest: record._id,
          user: record.user_name,
          ground: groundOf(record),
          createdOn: record.created_on,
          expiresOn: record.expires_on,
        };
      }),

    remove: (digest) =>
      database.run(async () => {
        await sessions.deleteOne({ _id: digest });
      }),

    removeAll: (user) =>
      database.run(async () => {
        await sessions.deleteMany({ user_name: user });
      }),
  };
}

/** A record without a password's digest and without an issuer rests upon nothing, and no digest is equal to "". */
const groundOf = ({
  password_digest: passwordDigest = "",
  issuer,
  roles = [],
}: SessionRecord): SessionBasis => (issuer === undefined ? { passwordDigest } : { issuer, roles });
