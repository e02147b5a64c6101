import type { SessionBasis, SessionStore, StoredSession } from "../users/session.ts";
import { runEach, type Database } from "./database/database.ts";
import { collections } from "./names.ts";
import { maxUpdateMs } from "./database/client-options.ts";

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

const maxListed = 200;

/** Stores the sessions of the console; a TTL index removes expired ones. */
export function createSessionStore(database: Database): SessionStore {
  const sessions = database.collection<SessionRecord>(collections.sessions);
  return runEach(database, {
    async insert(session) {
      await sessions.insertOne(toSessionRecord(session), { maxTimeMS: maxUpdateMs });
    },

    async find(digest) {
      const record = await sessions.findOne({ _id: digest });
      return record === null ? undefined : fromSessionRecord(record);
    },

    async list(user) {
      const options = { sort: { created_on: -1 }, limit: maxListed } as const;
      return (await sessions.find({ user_name: user }, options).toArray()).map(fromSessionRecord);
    },

    async extend(digest, expiresOn) {
      await sessions.updateOne(
        { _id: digest },
        { $set: { expires_on: expiresOn } },
        { maxTimeMS: maxUpdateMs },
      );
    },

    async remove(digest) {
      await sessions.deleteOne({ _id: digest }, { maxTimeMS: maxUpdateMs });
    },

    async removeAll(user, exceptDigest) {
      const except = exceptDigest === undefined ? {} : { _id: { $ne: exceptDigest } };
      await sessions.deleteMany({ user_name: user, ...except }, { maxTimeMS: maxUpdateMs });
    },
  });
}

export const toSessionRecord = ({
  digest,
  user,
  basis,
  createdOn,
  expiresOn,
}: StoredSession): SessionRecord => ({
  _id: digest,
  user_name: user,
  created_on: createdOn,
  expires_on: expiresOn,
  ...("issuer" in basis
    ? { issuer: basis.issuer, roles: basis.roles }
    : { password_digest: basis.passwordDigest }),
});

export const fromSessionRecord = (record: SessionRecord): StoredSession => ({
  digest: record._id,
  user: record.user_name,
  basis: toBasis(record),
  createdOn: record.created_on,
  expiresOn: record.expires_on,
});

/** Without digest and issuer the record is invalid: no digest equals "". */
const toBasis = ({
  password_digest: passwordDigest = "",
  issuer,
  roles = [],
}: SessionRecord): SessionBasis => (issuer === undefined ? { passwordDigest } : { issuer, roles });
