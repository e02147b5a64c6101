/** Renewals of a token that fail one after another, each in another way. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import { createLogger } from "@topicsync/lib/logger";
import { createGetToken } from "../tokens.ts";
import { startIssuer } from "../../../test/support/issuer.ts";
import { createFolder } from "../../../test/support/local.ts";

const issuer = await startIssuer();
const machine = { id: "topicsync", secret: "a secret", audience: "kafka", lifetimeSeconds: 300 };
const lifetimeMs = machine.lifetimeSeconds * 1_000;
/** A token is renewed when a fifth of its lifetime is left. */
const renewedBeforeMs = lifetimeMs / 5;

/** A token that was just fetched. Time passes only when the test says so. */
async function createScene(t: TestContext) {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  issuer.setMachine(machine);
  issuer.setBehaviour("well");
  const reasons: string[] = [];
  const log = await createLogger("warn", { write: (line) => void reasons.push(JSON.parse(line).reason) });
  const clientSecret = { setting: "KAFKA_OAUTH_CLIENT_SECRET", value: machine.secret, file: undefined };
  const source = { tokenUrl: `${issuer.url}/token`, clientId: machine.id, clientSecret, scope: undefined };
  const getToken = createGetToken({ mechanism: "oauthbearer", source, extensions: {} }, log);
  const first = await getToken();
  return {
    ...{ first, getToken, reasons },
    /** Opens connections together. Returns what they all get, and the number of requests. */
    open: async (behaviour: "well" | "failing" | "garbled", secret = machine.secret) => {
      issuer.setBehaviour(behaviour);
      issuer.setMachine({ ...machine, secret });
      const opened = await Promise.allSettled(Array.from({ length: 20 }, () => getToken()));
      const found = new Set(
        opened.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason))),
      );
      assert.equal(found.size, 1, "all get the same");
      return { found: [...found][0] ?? "", requests: issuer.countRequests() };
    },
  };
}

describe("the renewal of a token", () => {
  it("is requested once by all connections, also after two different failures", async (t) => {
    const { first, open, reasons } = await createScene(t);
    t.mock.timers.tick(lifetimeMs - renewedBeforeMs);
    assert.deepEqual(await open("failing"), { found: first, requests: 1 });
    assert.deepEqual(await open("well", "another"), { found: first, requests: 1 });
    const renewed = await open("well");
    assert.notEqual(renewed.found, first);
    assert.equal(renewed.requests, 1);
    assert.deepEqual(await open("failing"), { found: renewed.found, requests: 0 });
    assert.match(reasons[0] ?? "", /^KAFKA_OAUTH_TOKEN_URL gives no token/);
  });

  it("does not return an expired token after two different failures", async (t) => {
    const { first, open } = await createScene(t);
    t.mock.timers.tick(lifetimeMs);
    for (const [behaviour, secret, message] of [
      ["garbled", machine.secret, /^LoginError: KAFKA_OAUTH_TOKEN_URL gives no token \(/],
      ["well", "another", /^LoginError: KAFKA_OAUTH_TOKEN_URL gives no token \(invalid_client /],
    ] as const) {
      const { found, requests } = await open(behaviour, secret);
      assert.match(found, message);
      assert.equal(requests, 1);
    }
    const { found, requests } = await open("well");
    assert.doesNotMatch(found, /LoginError/);
    assert.notEqual(found, first);
    assert.equal(requests, 1);
  });

  it("does not return a token that expires during the request", async (t) => {
    const { first, getToken, open } = await createScene(t);
    t.mock.timers.tick(lifetimeMs - 1);
    assert.deepEqual(await open("failing"), { found: first, requests: 1 });
    issuer.setBehaviour("garbled");
    const late = getToken();
    t.mock.timers.tick(1);
    await assert.rejects(late, { name: "LoginError" });
    assert.notEqual((await open("well")).found, first);
  });
});

describe("a token in a file", () => {
  it("that has expired is not used, also while its file is written, but the next one is", async (t) => {
    const file = join(createFolder(t), "token");
    const expired = await issuer.token({ exp: 1_000 });
    const tokenFile = { setting: "KAFKA_OAUTH_TOKEN_FILE", value: expired, file };
    const log = await createLogger("silent");
    const getToken = createGetToken({ mechanism: "oauthbearer", source: { tokenFile }, extensions: {} }, log);
    for (const content of [expired, "", await issuer.token({ exp: 2_000 })]) {
      writeFileSync(file, content);
      await assert.rejects(getToken(), { name: "LoginError", message: /expired at 1970-01-01/ });
    }
    const next = await issuer.token();
    writeFileSync(file, next);
    assert.equal(await getToken(), next);
    writeFileSync(file, "");
    assert.equal(await getToken(), next);
  });
});
