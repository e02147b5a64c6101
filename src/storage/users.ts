import { NameTakenError } from "../lib/errors.ts";
import type { StoredUser, User, UserStore } from "../users/user.ts";
import type { Database } from "./database.ts";
import { isDuplicate } from "./failures.ts";
import { collections } from "./names.ts";
import { changeOne } from "./update-command.ts";

interface UserRecord {
  _id: string;
  user_name: string;
  password_hash: string;
  roles: string[];
  active: boolean;
}

/** The store of users in MongoDB. */
export function createUserStore(database: Database, newId: () => string): UserStore {
  const users = database.collection<UserRecord>(collections.users);

  return {
    find: (name) =>
      database.run(async () => {
        const record = await users.findOne({ user_name: name });
        return record === null ? undefined : fromRecord(record);
      }),

    list: () =>
      database.run(async () => {
        const records = await users.find({}, { sort: { user_name: 1 } }).toArray();
        return records.map(withoutHash);
      }),

    page: ({ prefix, after, limit }) =>
      database.run(async () => {
        // A range, since not every store finds anything by a regular expression on an indexed field.
        const within = {
          ...(prefix === undefined ? {} : { $gte: prefix, $lt: `${prefix}\u{10FFFF}` }),
          ...(after === undefined ? {} : { $gt: after }),
        };
        const filter = Object.keys(within).length === 0 ? {} : { user_name: within };
        const records = await users.find(filter, { sort: { user_name: 1 }, limit }).toArray();
        return records.map(withoutHash);
      }),

    insert: (user) =>
      database.run(async () => {
        try {
          await users.insertOne({
            _id: newId(),
            user_name: user.name,
            password_hash: user.passwordHash,
            roles: [...user.roles],
            active: user.active,
          });
        } catch (error) {
          if (!isDuplicate(error)) throw error;
          throw new NameTakenError(`the user "${user.name}" exists already`, { cause: error });
        }
      }),

    change: (name, { passwordHash, roles, active }) =>
      database.run(async () => {
        const changed = { password_hash: passwordHash, roles, active };
        const $set = Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined));
        return changeOne(users, { user_name: name }, { $set });
      }),

    changeRoles: (name, { add, remove }) =>
      database.run(async () => {
        // Two updates, since one cannot do both to a member; whoever changes other roles meanwhile loses nothing.
        const updates = [
          { $addToSet: { roles: { $each: [...add] } } },
          { $pull: { roles: { $in: [...remove] } } },
        ];
        const { matchedCount } = await users.bulkWrite(
          updates.map((update) => ({ updateOne: { filter: { user_name: name }, update } })),
        );
        return matchedCount > 0;
      }),
  };
}

const withoutHash = (record: UserRecord): User => ({
  name: record.user_name,
  roles: record.roles,
  active: record.active,
});

const fromRecord = (record: UserRecord): StoredUser => ({
  ...withoutHash(record),
  passwordHash: record.password_hash,
});
