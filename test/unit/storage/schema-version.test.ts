import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { pino } from "pino";

import { DatabaseConflictError } from "@topicsync/lib/errors";
import { version as program } from "../../../src/config/version.ts";
import { createDatabase } from "../../../src/storage/database/database.ts";
import { schemaVersion } from "../../../src/storage/schema-version.ts";
import { runCli } from "../../support/service.ts";
import { testDatabase } from "../../support/stack.ts";

interface SchemaRecord {
  _id: string;
  version: unknown;
  raised_by: string;
}

function createScene() {
  const { uri, db } = testDatabase();
  const schema = db.collection<SchemaRecord>("topicsync_schema");
  return {
    uri,
    db,
    schema,
    connect: async (): Promise<void> => {
      const database = createDatabase(uri, pino({ level: "silent" }));
      try {
        await database.connect(new AbortController().signal);
      } finally {
        await database.close();
      }
    },
    read: async () => {
      const { version, raised_by: by } = (await schema.findOne({ _id: "schema" })) ?? {};
      return [version, by];
    },
  };
}

describe("the version of the stored data", () => {
  it("is written to a database that has none, once", async () => {
    const { connect, schema, read } = createScene();
    await Promise.all([connect(), connect(), connect()]);
    assert.deepEqual(await read(), [schemaVersion, program]);
    assert.equal(await schema.countDocuments(), 1);
  });

  it("is raised in a database of an older program", async () => {
    const { connect, schema, read } = createScene();
    await schema.insertOne({ _id: "schema", version: schemaVersion - 1, raised_by: "0.0.1" });
    await connect();
    assert.deepEqual(await read(), [schemaVersion, program]);
  });

  it("of a newer program is refused, by the commands too, before anything is created", async () => {
    const { uri, db, connect, schema, read } = createScene();
    for (const version of [schemaVersion + 1, "damaged", null]) {
      await schema.replaceOne({ _id: "schema" }, { version, raised_by: "9.8.7" }, { upsert: true });
      await assert.rejects(
        connect(),
        (error) =>
          error instanceof DatabaseConflictError &&
          error.message.includes(`schema version ${String(version)}, which topicsync 9.8.7 wrote`),
      );
      assert.deepEqual(await read(), [version, "9.8.7"]);
    }
    const { code, errors } = await runCli(["users", "list"], { MONGODB_URI: uri });
    assert.equal(code, 65);
    assert.match(errors, /Start topicsync 9\.8\.7 or later, or restore a backup/);
    assert.deepEqual(
      (await db.listCollections().toArray()).map(({ name }) => name),
      ["topicsync_schema"],
    );
  });
});
