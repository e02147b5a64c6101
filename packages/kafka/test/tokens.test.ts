import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import pino from "pino";

import { createGetToken } from "../tokens.ts";
import { startIssuer } from "../../../test/support/issuer.ts";
import { createFolder } from "../../../test/support/local.ts";

const issuer = await startIssuer();
const machine = { id: "topicsync", secret: "a secret & more", audience: "kafka", lifetimeSeconds: 300 };
const silent = pino({ level: "silent" });

function createSource(log = silent) {
  const clientSecret = { setting: "KAFKA_OAUTH_CLIENT_SECRET", value: machine.secret, file: undefined };
  const source = { tokenUrl: `${issuer.url}/token`, clientId: machine.id, clientSecret, scope: "kafka read" };
  return createGetToken({ mechanism: "oauthbearer", source, extensions: {} }, log);
}

describe("a token by client credentials", () => {
  it("is shared by all connections", async () => {
    issuer.setMachine(machine);
    const getToken = createSource();
    const before = issuer.countMachineTokens();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => getToken()));
    assert.equal(new Set([...tokens, await getToken()]).size, 1);
    assert.equal(issuer.countMachineTokens() - before, 1);
    assert.equal(issuer.getLastExchange().body.get("scope"), "kafka read");
  });

  it("is renewed half a minute before it expires, and used on while the provider fails", async (t) => {
    issuer.setMachine({ ...machine, lifetimeSeconds: 60 });
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
    const lines: string[] = [];
    const getToken = createSource(
      pino({ level: "warn" }, { write: (line: string) => void lines.push(line) }),
    );
    const before = issuer.countMachineTokens();
    await getToken();
    t.mock.timers.tick(29_000);
    await getToken();
    assert.equal(issuer.countMachineTokens() - before, 1);
    t.mock.timers.tick(2_000);
    issuer.setBehaviour("failing");
    await getToken();
    assert.match(lines.join(), /kafka token not renewed/);
    issuer.setBehaviour("well");
    await getToken();
    assert.equal(issuer.countMachineTokens() - before, 2);
  });

  it("fails with the setting to correct, and without the secret", async () => {
    issuer.setMachine({ ...machine, secret: "another" });
    await assert.rejects(createSource()(), (error: Error) => {
      assert.equal(error.name, "LoginError");
      assert.match(
        error.message,
        /^KAFKA_OAUTH_TOKEN_URL gives no token \(invalid_client .*check KAFKA_OAUTH_CLIENT_ID/,
      );
      assert.doesNotMatch(error.message, /a secret & more/);
      return true;
    });
  });
});

describe("a token in a file", () => {
  it("is read each time, and must not have expired", async (t) => {
    const file = join(createFolder(t), "token");
    const write = (token: string): void => {
      writeFileSync(file, token);
    };
    const tokenFile = { setting: "KAFKA_OAUTH_TOKEN_FILE", value: "first", file };
    write("first");
    const getToken = createGetToken(
      { mechanism: "oauthbearer", source: { tokenFile }, extensions: {} },
      silent,
    );
    assert.equal(await getToken(), "first");
    write("second\n");
    assert.equal(await getToken(), "second");
    write("");
    assert.equal(await getToken(), "second", "a file that is being written");
    write(await issuer.token({ exp: 1_000 }));
    await assert.rejects(getToken(), /the token in KAFKA_OAUTH_TOKEN_FILE expired at 1970-01-01T00:16:40/);
  });
});
