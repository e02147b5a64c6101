import assert from "node:assert/strict";
import { it } from "node:test";

import { getErrorMessage } from "../errors.ts";
import { serializeError } from "../logger.ts";
import { unique } from "../../../test/support/names.ts";
import { testDatabase } from "../../../test/support/stack.ts";

const { db } = testDatabase();

it("logs an error of MongoDB without its documents and tokens", async () => {
  const token = unique('secret "token"');
  const installations = db.collection("installations");
  await installations.createIndex({ token: 1, application: 1 }, { unique: true }, {});
  const insert = () => installations.insertMany([{ token, application: "App" }], { ordered: false });
  await insert();
  const error: unknown = await insert().catch((reason: unknown) => reason);
  assert.ok(error instanceof Error && /E11000/.test(error.message), "the store rejected it");
  const wrapped = new Error(`it failed: ${error.message}`, { cause: error });
  for (const one of [error, wrapped]) {
    const logged = JSON.stringify(serializeError(one));
    assert.match(logged, /E11000/);
    assert.match(logged, /logger\.test/, "where it came from");
    assert.doesNotMatch(logged + getErrorMessage(one), /secret/);
  }
  assert.match(JSON.stringify(serializeError(error)), /"code":11000/);
});

it("logs no API keys that a message contains", () => {
  const key = `tsk_${"Az09-_".repeat(7)}x`;
  const error = new Error(`dup key: { digest: "${key}" } of Bearer ${key}.`);
  assert.equal(getErrorMessage(error), 'dup key: { digest: "[redacted]" } of Bearer [redacted].');
  assert.doesNotMatch(JSON.stringify(serializeError(error)), /Az09/);
});
