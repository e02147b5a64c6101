/** Mistakes in versions, in their history, and in what users change. */
import type { Mutant } from "./mutant.ts";

const topicWrites = "src/storage/topics/writes.ts";
const topicChanges = "src/storage/topics/changes.ts";

export const syncVersionMutants: readonly Mutant[] = [
  {
    name: "versions: a batch does not compare the version of a topic",
    world: "sync",
    file: topicWrites,
    replace: "{ toFilter = toVersionFilter, ...options }",
    by: "{ toFilter = ({ id }) => ({ _id: id }), ...options }",
  },
  {
    name: "versions: a change does not compare what was read",
    world: "sync",
    file: topicChanges,
    replace: "toFilter: toExactFilter",
    by: "toFilter: ({ id }) => ({ _id: id })",
  },
  {
    name: "versions: the history is written outside the transaction",
    world: "sync",
    file: topicWrites,
    replace:
      "        return { replaceOne: { filter: { _id }, replacement, upsert: true } };\n      }),\n      options,",
    by: "        return { replaceOne: { filter: { _id }, replacement, upsert: true } };\n      }),\n      {},",
  },
  {
    name: "versions: a version that one batch replaces is not kept",
    world: "sync",
    file: "src/topics/snapshot.ts",
    replace: "      this.#replaced.push({",
    by: "      if (!isTransient) this.#replaced.push({",
  },
  {
    name: "versions: a topic is enabled although another call has done so",
    world: "sync",
    file: topicChanges,
    replace: "    if (matchedCount === 0) throw createGoneError();\n",
    by: "    if (matchedCount < 0) throw createGoneError();\n",
    schedule: "topic enabled twice while it is disabled",
  },
  {
    name: "versions: the first retirement of a topic counts as its last",
    world: "sync",
    file: "src/storage/topics/topics.ts",
    replace: "sort: { retired_on: -1, version: -1, sys_id: -1 }",
    by: "sort: { retired_on: 1, version: 1, sys_id: 1 }",
  },
  {
    name: "versions: a topic that the channel has retired can be enabled",
    world: "sync",
    file: "src/topics/changes.ts",
    replace: "  const last = findRetired(externalId, context);\n",
    by: '  const found = findRetired(externalId, context);\n  const last = found && { ...found, retiredBy: { kind: "http", user: "admin" } as const };\n',
  },
  {
    name: "versions: a change that is uncertain is acknowledged",
    world: "sync",
    file: topicChanges,
    replace: "    if (!(await isStored())) return false;\n",
    by: "    if (primary !== undefined) return true;\n",
  },
  {
    name: "versions: a change that was read as stored is acknowledged at once",
    world: "sync",
    file: "src/topics/changing.ts",
    schedule: "change that counts as done although an election loses it",
    replace: "if (made.length < results.length && !(await store.confirmReads(primary))) continue;",
    by: "if (primary === null) continue;",
  },
  {
    name: "versions: a change does not compare the version that its user has read",
    world: "sync",
    file: "src/topics/changes.ts",
    replace: "  if (expected !== undefined && !isExpected(topic, expected)) throw",
    by: "  if (expected !== undefined && topic.version === 0) throw",
  },
  {
    name: "versions: new topics are stored outside the transaction",
    world: "sync",
    file: topicWrites,
    replace: "    for (const some of splitBySize(created)) await insertAll(database, topics, some, options);",
    by: "    for (const some of splitBySize(created)) await insertAll(database, topics, some, {});",
  },
  {
    name: "versions: changes are made although another one of the request cannot be made",
    world: "sync",
    file: "src/topics/changes.ts",
    replace: "  if (rejections.length > 0) return {",
    by: "  if (rejections.length === set.changes.length) return {",
  },
  {
    name: "versions: a topic that was adopted keeps its number",
    world: "sync",
    file: "src/topics/snapshot.ts",
    replace: "version: from.version + 1,",
    by: 'version: from.version + (action === "adopted" ? 0 : 1),',
  },
];
