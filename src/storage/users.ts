import { NameTakenError } from "@topicsync/lib/errors";
import { newId } from "@topicsync/lib/sys-id";
import type { StoredUser, User, UserStore } from "../users/user.ts";
import { runEach, type Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections } from "./names.ts";
import { findPage, toPrefixRange } from "./queries.ts";
import { updateLimit } from "./database/client-options.ts";
import { changeOne } from "./update-command.ts";

interface UserRecord {
  _id: string;
  user_name: string;
  password_hash: string;
  roles: string[];
  active: boolean;
}

export function createUserStore(database: Database): UserStore {
  const users = database.collection<UserRecord>(collections.users);

  const store = runEach<Omit<UserStore, "findPage">>(database, {
    async find(name) {
      const record = await users.findOne({ user_name: name });
      return record === null ? undefined : toStoredUser(record);
    },

    async insert(user) {
      try {
        await database.ensureIndexes(collections.users);
        await users.insertOne(toUserRecord(user), updateLimit);
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        throw new NameTakenError(`the user "${user.name}" exists already`, { cause: error });
      }
    },

    async change(name, { passwordHash, roles, active }, expected) {
      const changed = { password_hash: passwordHash, roles, active };
      const $set = Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined));
      // The new hash as well: the write may be repeated after an outage.
      const hashes = [expected?.passwordHash, passwordHash].filter((one) => one !== undefined);
      const as = expected && { password_hash: { $in: hashes }, active: expected.active };
      return changeOne(users, { user_name: name, ...as }, { $set });
    },

    async remove(name) {
      await users.deleteOne({ user_name: name }, updateLimit);
    },

    async changeRoles(name, { add, remove }) {
      // MongoDB cannot $addToSet and $pull one field in a single update.
      const updates = [
        { $addToSet: { roles: { $each: [...add] } } },
        { $pull: { roles: { $in: [...remove] } } },
      ];
      const { matchedCount } = await users.bulkWrite(
        updates.map((update) => ({ updateOne: { filter: { user_name: name }, update } })),
        updateLimit,
      );
      return matchedCount > 0;
    },
  });
  return {
    ...store,

    findPage: ({ prefix, afterName, limit }) =>
      database.list(async () => {
        const { records, next } = await findPage(users, {
          filter: prefix === undefined ? {} : { user_name: toPrefixRange(prefix) },
          sort: ["user_name"],
          after: afterName === undefined ? undefined : [afterName],
          limit,
        });
        return { users: records.map(toUser), hasNext: next !== undefined };
      }),
  };
}

export const toUserRecord = (user: StoredUser): UserRecord => ({
  _id: newId(),
  user_name: user.name,
  password_hash: user.passwordHash,
  roles: [...user.roles],
  active: user.active,
});

const toUser = (record: UserRecord): User => ({
  name: record.user_name,
  roles: record.roles,
  active: record.active,
});

export const toStoredUser = (record: UserRecord): StoredUser => ({
  ...toUser(record),
  passwordHash: record.password_hash,
});
