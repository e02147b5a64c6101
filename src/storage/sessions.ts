import type { SessionBasis, SessionStore } from "../sessions/session.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import { maxUpdateMs } from "./client-options.ts";

interface SessionRecord {
  _id: string;
  user_name: string;
  created_on: Date;
  expires_on: Date;
  /** For stored users. */
  password_digest?: string;
  /** For users of an OpenID provider, as are the roles. */
  issuer?: string;
  roles?: readonly string[];
}

/** Stores the sessions of the console; a TTL index removes expired ones. */
export function createSessionStore(database: Database): SessionStore {
  const sessions = database.collection<SessionRecord>(collections.sessions);
  return {
    insert: ({ digest, user, basis, createdOn, expiresOn }) =>
      database.run(async () => {
        await sessions.insertOne(
          {
            _id: digest,
            user_name: user,
            created_on: createdOn,
            expires_on: expiresOn,
            ...("issuer" in basis
              ? { issuer: basis.issuer, roles: basis.roles }
              : { password_digest: basis.passwordDigest }),
          },
          { maxTimeMS: maxUpdateMs },
        );
      }),

    find: (digest) =>
      database.run(async () => {
        const record = await sessions.findOne({ _id: digest });
        if (record === null) return undefined;
        return {
          digest: record._id,
          user: record.user_name,
          basis: toBasis(record),
          createdOn: record.created_on,
          expiresOn: record.expires_on,
        };
      }),

    remove: (digest) =>
      database.run(async () => {
        await sessions.deleteOne({ _id: digest }, { maxTimeMS: maxUpdateMs });
      }),

    removeAll: (user) =>
      database.run(async () => {
        await sessions.deleteMany({ user_name: user }, { maxTimeMS: maxUpdateMs });
      }),
  };
}

/** Without digest and issuer the record is invalid: no digest equals "". */
const toBasis = ({
  password_digest: passwordDigest = "",
  issuer,
  roles = [],
}: SessionRecord): SessionBasis => (issuer === undefined ? { passwordDigest } : { issuer, roles });
