import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import { pino } from "pino";

import { ConfigurationError } from "@topicsync/lib/errors";
import { createCatalogStore } from "../../../src/storage/catalog.ts";
import { createDatabase } from "../../../src/storage/database/database.ts";
import { indexes } from "../../../src/storage/indexes.ts";
import { createUserStore } from "../../../src/storage/users.ts";
import { getPort } from "../../support/local.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { unique } from "../../support/names.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const sent: Record<string, unknown>[] = [];
const store = await startMongoProxy(getPort(sharedStack().mongodb), {
  onCommand: (command) => void sent.push(command),
});
afterEach(() => {
  store.clear();
});

/** Connects to a database and disconnects; returns the log lines. */
async function connect(name: string, proxy = store): Promise<readonly { index?: string; msg: string }[]> {
  const lines: { index?: string; msg: string }[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const database = createDatabase(proxy.uri(name), log);
  try {
    await database.connect(new AbortController().signal);
  } finally {
    await database.close();
  }
  return lines;
}

describe("a user without the privilege to create indexes", () => {
  const forbid = (): void => {
    for (const command of ["create", "createIndexes"]) {
      const answer = {
        ok: 0,
        code: 13,
        codeName: "Unauthorized",
        errmsg: `not authorized to execute ${command}`,
      };
      store.fail({ command, executed: false, answer, times: 1_000 });
    }
  };

  it("can use a database that has all indexes, under any names", async () => {
    const { db } = testDatabase();
    await connect(db.databaseName);
    await db.collection("sys_user").dropIndex("unique_user_name");
    await db.collection("sys_user").createIndex({ user_name: 1 }, { unique: true, name: "by_hand" }, {});
    forbid();
    assert.deepEqual(await connect(db.databaseName), []);
  });

  it("gets an error that lists what is missing", async () => {
    const { db } = testDatabase();
    await connect(db.databaseName);
    await db.collection("sys_user").dropIndex("unique_user_name");
    await db.collection("sys_user").createIndex({ user_name: 1 }, { name: "unique_user_name" }, {});
    await db.collection("sys_push_platform").dropIndex("unique_platform_name");
    await db.collection("sys_push_platform").createIndex({ name: 1 }, { unique: true, sparse: true }, {});
    await db.collection("topicsync_sessions").drop();
    forbid();
    await assert.rejects(connect(db.databaseName), (error: Error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.match(error.message, /not authorized to execute createIndexes/);
      const lost = indexes.filter(({ collection }) => collection === "topicsync_sessions");
      const replaced = ["sys_push_platform.unique_platform_name", "sys_user.unique_user_name"];
      const missing = [...replaced, ...lost.map(({ name }) => `topicsync_sessions.${name}`)];
      assert.ok(error.message.includes(` missing: ${missing.join(", ")}. `), error.message);
      return true;
    });
  });
});

describe("an update of a record", () => {
  it("sends no empty operator, which older products reject, and nothing without a change", async () => {
    const { db } = testDatabase();
    const database = createDatabase(store.uri(db.databaseName), pino({ level: "silent" }));
    await database.connect(new AbortController().signal);
    const users = createUserStore(database);
    const { platforms } = createCatalogStore(database);
    const name = unique("name");
    await users.insert({ name, passwordHash: "", roles: [], active: true });
    await platforms.insert({ name, active: true, tokenRule: undefined });
    sent.length = 0;
    assert.equal(await users.change(name, {}), true);
    assert.equal(await users.change(unique("nobody"), {}), false);
    assert.equal(await users.change(name, { active: false }), true);
    assert.equal(await platforms.change(name, {}), true);
    assert.equal(await platforms.change(name, { active: false }), true);
    assert.equal(await platforms.change(name, { tokenRule: null }), true);
    await database.close();
    const updates = sent.filter((command) => "update" in command);
    assert.equal(updates.length, 3);
    assert.equal(updates.filter((command) => JSON.stringify(command).includes("{}")).length, 0);
  });
});
