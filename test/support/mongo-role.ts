import { runInNewContext } from "node:vm";

import type { Document } from "mongodb";

/** Actions of MongoDB's access control, by collection. */
export type Privileges = ReadonlyMap<string, ReadonlySet<string>>;

/** The actions that a command needs on its collection, by the manual; `insert` as well if it may upsert. */
const requiredActions: Readonly<Record<string, readonly string[]>> = {
  find: ["find"],
  count: ["find"],
  distinct: ["find"],
  aggregate: ["find"],
  insert: ["insert"],
  update: ["update"],
  delete: ["remove"],
  findAndModify: ["find", "update"],
  create: ["createCollection"],
  createIndexes: ["createIndex"],
  listIndexes: ["listIndexes"],
};

/** Commands that every user may send: about connections, and about the user's own sessions and cursors. */
const unrestrictedCommands = new Set([
  "hello",
  "ismaster",
  "ping",
  "endSessions",
  "killSessions",
  "commitTransaction",
  "abortTransaction",
  "getMore",
  "killCursors",
]);

/** Records the privileges that commands need. */
export function createPrivilegeRecorder(): {
  readonly record: (command: Document) => void;
  readonly privileges: Privileges;
} {
  const privileges = new Map<string, Set<string>>();
  return {
    privileges,
    record(command) {
      const [name = ""] = Object.keys(command);
      if (unrestrictedCommands.has(name)) return;
      const actions = requiredActions[name];
      // An unknown command would need a privilege that is not documented.
      const collection = actions === undefined ? name : String(command[name]);
      const recorded = privileges.get(collection) ?? new Set();
      privileges.set(collection, recorded);
      for (const action of [...(actions ?? ["?"]), ...getFurtherActions(command)]) recorded.add(action);
    },
  };
}

function getFurtherActions({ upsert, updates, pipeline }: Document): string[] {
  const statements = [{ upsert }, ...((updates ?? []) as Document[])];
  const stages = (pipeline ?? []) as Document[];
  return [
    ...(statements.some((one) => one["upsert"] === true) ? ["insert"] : []),
    ...(stages.some((stage) => "$changeStream" in stage) ? ["changeStream"] : []),
  ];
}

interface RoleDocument {
  readonly role: string;
  readonly privileges: readonly {
    readonly resource: { readonly db: string; readonly collection: string };
    readonly actions: readonly string[];
  }[];
  readonly roles: readonly unknown[];
}

/** The roles that a script for mongosh creates. */
export function readRoles(script: string): RoleDocument[] {
  const roles: RoleDocument[] = [];
  const database = { createRole: (role: RoleDocument) => roles.push(role), createUser: () => undefined };
  runInNewContext(script, { db: { getSiblingDB: () => database }, passwordPrompt: () => "" });
  return roles;
}

export const toPrivileges = ({ privileges }: RoleDocument): Privileges =>
  new Map(privileges.map(({ resource, actions }) => [resource.collection, new Set(actions)]));

/** A form that is comparable, and readable in a diff. */
export const toLines = (privileges: Privileges): string[] =>
  [...privileges]
    .flatMap(([collection, actions]) => [...actions].map((action) => `${collection}: ${action}`))
    .toSorted();
