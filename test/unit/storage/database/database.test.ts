import assert from "node:assert/strict";
import { after, afterEach, describe, it } from "node:test";

import type { Document } from "mongodb";
import { pino } from "pino";

import { ConfigurationError, UnavailableError } from "@topicsync/lib/errors";
import { createLogger } from "@topicsync/lib/logger";
import type { PositionKey } from "@topicsync/kafka";
import { createDatabase, type Database } from "../../../../src/storage/database/database.ts";
import { collections } from "../../../../src/storage/names.ts";
import { openPositions } from "../../../support/positions.ts";
import { getPort } from "../../../support/local.ts";
import { dialects } from "../../../support/mongo-dialects.ts";
import { mongoErrors, startMongoProxy } from "../../../support/mongo-faults.ts";
import { unique } from "../../../support/names.ts";
import { sharedStack, testDatabase } from "../../../support/stack.ts";

const { db } = testDatabase();
const store = await startMongoProxy(getPort(sharedStack().mongodb));
const log = await createLogger("silent");
const { signal: never } = new AbortController();
afterEach(() => {
  store.clear();
});

/** Creates a database that connects through the proxy; it is closed after the tests of this file. */
function open(options = ""): Database {
  const database = createDatabase(`${store.uri(db.databaseName)}${options}`, log);
  after(() => database.close());
  return database;
}

async function connect(options = ""): Promise<Database> {
  const database = open(options);
  await database.connect(never);
  return database;
}

const answerWith = (command: string, answer: Document, times = 1): void => {
  // The version of the schema is read first, outside of a transaction.
  const where = command === "find" ? { collection: collections.positions } : {};
  store.fail({ command, ...where, executed: false, answer, times });
};

describe("a connection string", () => {
  for (const options of [
    "&readPreference=secondaryPreferred",
    "&readPreference=nearest&readPreferenceTags=dc:ny&maxStalenessSeconds=120",
    "&readConcernLevel=linearizable",
    "&w=1&journal=false&wtimeoutMS=5",
    "&J=false&wtimeout=5",
  ])
    it(`does not override read preference, read concern and write concern: ${options}`, async () => {
      const database = await connect(options);
      const { readPreference, readConcern, writeConcern } = database.collection(collections.topics);
      assert.equal(readPreference?.mode, "primary");
      assert.equal(readPreference.tags, undefined);
      assert.equal(readConcern?.level, "local");
      assert.equal(writeConcern?.w, "majority");
      assert.equal(writeConcern.journal, true);
      assert.equal(writeConcern.wtimeoutMS, 10_000);
      assert.notEqual(database.startSession(), undefined, "there are transactions");
    });

  it("is a configuration error if the driver rejects it", () => {
    for (const faulty of ["mongodb://h/t?noSuchOption=1", "mongodb://a,b/t?directConnection=true"])
      assert.throws(
        () => createDatabase(faulty, log),
        (error) =>
          error instanceof ConfigurationError && error.message.startsWith("MONGODB_URI cannot be used: "),
      );
  });

  it("keeps its other options, and its password", async () => {
    await assert.rejects(
      open("&readPreference=nearest&tls=true").connect(AbortSignal.timeout(1_000)),
      UnavailableError,
    );
    assert.throws(() => createDatabase("mongodb://ann:p%3F%26w%3D1@h/t?authMechanism=none", log), /none/);
  });
});

describe("a MongoDB without transactions", () => {
  for (const [product, answer] of [
    [
      "a standalone mongod",
      { code: 20, errmsg: "Transaction numbers are only allowed on a replica set member or mongos" },
    ],
    ["Amazon DocumentDB", { code: 303, errmsg: "Feature not supported: 'autocommit'" }],
    ["FerretDB", { code: 59, errmsg: "no such command: 'commitTransaction'" }],
  ] as const)
    it(`is recognized by its error: ${product}`, async () => {
      answerWith(answer.code === 59 ? "commitTransaction" : "find", { ok: 0, ...answer });
      const database = await connect();
      assert.equal(store.pending(), 0);
      assert.equal(database.startSession(), undefined);
    });

  it("is not assumed for another error: the start fails with the reason", async () => {
    answerWith("find", { ok: 0, code: 2, codeName: "BadValue", errmsg: "something new" });
    await assert.rejects(connect(), (error: Error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.match(error.message, /failed to run a transaction.*something new/);
      return true;
    });
  });

  it("is asked for again where no majority acknowledges the commit", async () => {
    const commands: Document[] = [];
    const slow = await startMongoProxy(getPort(sharedStack().mongodb), {
      onCommand: (command) => void commands.push(command),
    });
    const answer = mongoErrors.writeConcernTimeout;
    slow.fail({ command: "commitTransaction", executed: true, answer, times: 1 });
    const database = createDatabase(slow.uri(db.databaseName), log);
    after(() => database.close());
    await database.connect(never);
    const begun = commands.filter((command) => command["startTransaction"] === true);
    assert.equal(begun.length, 2, "`withTransaction` would only repeat the commit, for two minutes");
  });

  it("is not assumed for an outage: the check is repeated", async () => {
    answerWith("find", {
      ok: 0,
      code: 91,
      codeName: "ShutdownInProgress",
      errmsg: "the server is in quiesce mode",
    });
    const database = await connect();
    assert.equal(store.pending(), 0);
    assert.notEqual(database.startSession(), undefined);
  });
});

describe("a direct connection", () => {
  it("to a secondary is not used, because its data may be old", async () => {
    const member = await startMongoProxy(getPort(sharedStack().mongodb), {
      dialect: {
        hello: (hello) => ({ ...hello, isWritablePrimary: false, ismaster: false, secondary: true }),
        hasTransactions: true,
        hasChangeStreams: true,
        rules: [],
      },
    });
    const failed = new AbortController();
    const firstWarning = pino(
      { level: "warn" },
      {
        write() {
          failed.abort();
        },
      },
    );
    const database = createDatabase(member.uri(db.databaseName), firstWarning);
    after(() => database.close());
    await assert.rejects(database.connect(failed.signal), {
      name: "UnavailableError",
      message: /directConnection=true.*not the primary/,
    });
  });
});

describe("wrong credentials", () => {
  const rejected = { ok: 0, code: 18, codeName: "AuthenticationFailed", errmsg: "Authentication failed." };

  it("end the start at once", async () => {
    answerWith("create", rejected);
    await assert.rejects(connect(), (error: Error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.match(error.message, /credentials of MONGODB_URI.*authSource/);
      return true;
    });
  });

  it("are an outage at run time, since a password may be changing", async () => {
    const database = await connect();
    answerWith("ping", rejected);
    await assert.rejects(database.ping(), {
      name: "UnavailableError",
      message: /credentials of MONGODB_URI/,
    });
  });
});

describe("taking over a partition", () => {
  for (const [what, answer] of [
    ["is not allowed to the user", { ok: 0, code: 13, errmsg: "not authorized on admin to execute command" }],
    [
      "is not allowed on Atlas",
      { ok: 0, code: 8000, codeName: "AtlasError", errmsg: "CMD_NOT_ALLOWED: killSessions" },
    ],
    ["is unknown", { ok: 0, code: 115, errmsg: "Unknown request received: killSessions" }],
    ["fails on a member of a shard", { ok: 0, code: 6, errmsg: "Failed to kill on some hosts" }],
  ] as const)
    it(`succeeds although killSessions ${what}`, async () => {
      const database = await connect();
      const key = createKey();
      await openPositions(database).claim(key);
      answerWith("killSessions", answer, 2);
      for (const left of [1, 0]) {
        await openPositions(database).claim(key);
        assert.equal(store.pending(), left);
      }
    });

  it("succeeds although killSessions takes very long", async () => {
    const database = await connect();
    const key = createKey();
    await openPositions(database).claim(key);
    // Longer than any timeout of the driver.
    store.fail({ command: "killSessions", executed: true, answer: {}, delayMs: 20_000, times: 1 });
    await openPositions(database).claim(key);
    assert.equal(store.pending(), 0);
  });
});

describe("a store that executes a repeated write again", () => {
  it("must be used without retryable writes", async () => {
    const dialect = dialects["DocumentDB (open source)"];
    const connectTo = async (uriOptions: string): Promise<void> => {
      const proxy = await startMongoProxy(getPort(sharedStack().mongodb), {
        dialect: { ...dialect, uriOptions },
      });
      const database = createDatabase(proxy.uri(testDatabase().db.databaseName), log);
      try {
        await database.connect(never);
      } finally {
        await database.close();
      }
    };
    await assert.rejects(connectTo(""), (error: Error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.match(error.message, /add retryWrites=false to MONGODB_URI/);
      return true;
    });
    await connectTo(dialect.uriOptions);
  });
});

describe("a conflicting transaction", () => {
  for (const [what, answer] of [
    [
      "with MongoDB's label",
      { ok: 0, code: 112, errmsg: "WriteConflict", errorLabels: ["TransientTransactionError"] },
    ],
    [
      "with a conflict that has no label",
      { ok: 0, code: 112, codeName: "WriteConflict", errmsg: "WriteConflict" },
    ],
    ["with an aborted transaction", { ok: 0, code: 251, codeName: "NoSuchTransaction", errmsg: "aborted" }],
  ] as const)
    it(`is retried until it succeeds: ${what}`, async () => {
      const database = await connect();
      const records = database.collection<{ _id: string }>(collections.positions);
      const session = database.startSession();
      assert.ok(session !== undefined);
      const _id = unique("record");
      answerWith("insert", answer, 9);
      await database.runTransaction(session, async () => {
        await records.insertOne({ _id }, { session });
      });
      await session.endSession();
      assert.equal(store.pending(), 0);
      assert.equal(await db.collection<{ _id: string }>(collections.positions).countDocuments({ _id }), 1);
    });

  it("is an UnavailableError in the end", async () => {
    const database = await connect();
    const session = database.startSession();
    assert.ok(session !== undefined);
    answerWith("insert", { ok: 0, code: 112, codeName: "WriteConflict", errmsg: "WriteConflict" }, 10_000);
    await assert.rejects(
      database.runTransaction(session, async () => {
        await database.collection(collections.positions).insertOne({}, { session });
      }),
      { name: "UnavailableError", message: /MongoDB aborted the transaction: WriteConflict/ },
    );
    await session.endSession();
  });
});

const createKey = (): PositionKey => ({ group: unique("group"), topic: "announcements", partition: 0 });
