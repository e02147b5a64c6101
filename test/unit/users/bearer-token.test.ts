/** Keys of the issuer that cannot be fetched one time after another, each time for another reason. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { exportJWK, generateKeyPair, SignJWT } from "jose";

import { UnavailableError } from "@topicsync/lib/errors";
import { createVerifyToken } from "../../../src/users/bearer-token.ts";
import { InvalidTokenError } from "../../../src/users/openid.ts";

const issuer = "https://id.example.org/realm";
const configurationUrl = `${issuer}/.well-known/openid-configuration`;
const keysUrl = `${issuer}/keys`;
const header = { alg: "RS256", kid: "key-1" };
const { publicKey, privateKey } = await generateKeyPair("RS256");
const keys = { keys: [{ ...(await exportJWK(publicKey)), ...header, use: "sig" }] };
const configuration = { issuer, jwks_uri: keysUrl };

/** Failures are kept for a second. */
const failureMs = 1_001;
/** jose fetches keys again after this time. */
const keysMs = 600_001;
const minuteMs = 60_000;

type Behaviour = "well" | "away" | "failing" | "garbled" | "another";

/** A verifier whose issuer is asked by `fetch`. Time passes only when the test says so. */
function createScene(t: TestContext) {
  let time = performance.now();
  t.mock.timers.enable({ apis: ["Date", "setTimeout"], now: Date.UTC(2026, 0, 1) });
  t.mock.method(performance, "now", () => time);
  let behaviour: Behaviour = "well";
  let requests: string[] = [];
  let tokens = 0;
  t.mock.method(globalThis, "fetch", async (url: string) => {
    requests.push(url);
    await Promise.resolve();
    if (behaviour === "away") throw new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") });
    if (behaviour === "failing") return new Response("{}", { status: 500 });
    if (behaviour === "garbled") return new Response("<html>");
    if (url === keysUrl) return Response.json(keys);
    return Response.json({ ...configuration, ...(behaviour === "another" && { issuer: "https://other" }) });
  });
  const config = {
    ...{ issuer, audience: "topicsync", rolesClaim: "roles", userClaim: "sub" },
    ...{ roleMap: new Map(), tokenType: undefined },
  };
  const verify = createVerifyToken(config);
  const check = async (token: string): Promise<string> => {
    try {
      return (await verify(token, () => Promise.resolve())).name;
    } catch (error) {
      assert.ok(error instanceof UnavailableError || error instanceof InvalidTokenError);
      return error instanceof UnavailableError ? `unavailable: ${error.message}` : "invalid";
    }
  };
  /** Signs a token that is valid for two minutes. */
  const sign = (): Promise<string> => {
    tokens += 1;
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: issuer, aud: config.audience, sub: "ann", roles: [], jti: String(tokens) };
    return new SignJWT({ ...claims, iat: now, exp: now + 120 }).setProtectedHeader(header).sign(privateKey);
  };
  return {
    check,
    sign,
    pass: (ms: number): void => {
      time += ms;
      t.mock.timers.tick(ms);
    },
    /** What several new tokens are told together, and which requests that took. */
    checkNew: async (next: Behaviour) => {
      behaviour = next;
      requests = [];
      const all = await Promise.all(Array.from({ length: 20 }, sign));
      const found = new Set(await Promise.all(all.map(check)));
      assert.equal(found.size, 1, "all get the same");
      return { found: [...found][0] ?? "", requests };
    },
  };
}

describe("the keys of an issuer", () => {
  it("are found by one request for all tokens, also after two different failures", async (t) => {
    const { checkNew, pass } = createScene(t);
    for (const [behaviour, message] of [
      ["away", `unavailable: ${configurationUrl} does not respond: ECONNREFUSED`],
      ["another", `unavailable: ${configurationUrl} names another issuer: https://other`],
    ] as const) {
      assert.deepEqual(await checkNew(behaviour), { found: message, requests: [configurationUrl] });
      assert.deepEqual(await checkNew("well"), { found: message, requests: [] }, "a failure is kept");
      pass(failureMs);
    }
    assert.deepEqual(await checkNew("well"), { found: "oidc:ann", requests: [configurationUrl, keysUrl] });
    assert.deepEqual(await checkNew("failing"), { found: "oidc:ann", requests: [] });
  });

  it("are fetched again when they are old, by one request for all tokens after two failures, too", async (t) => {
    const { checkNew, pass } = createScene(t);
    assert.equal((await checkNew("well")).found, "oidc:ann");
    pass(keysMs);
    for (const [behaviour, message] of [
      ["failing", /^unavailable: \S+\/keys responded with 500$/],
      ["garbled", /^unavailable: the issuer's response cannot be read: /],
    ] as const) {
      const { found, requests } = await checkNew(behaviour);
      assert.match(found, message);
      assert.deepEqual(requests, [keysUrl]);
    }
    assert.deepEqual(await checkNew("well"), { found: "oidc:ann", requests: [keysUrl] });
  });
});

describe("a token that was verified", () => {
  it("is not accepted after it has expired, whatever becomes of the issuer", async (t) => {
    const { check, checkNew, sign, pass } = createScene(t);
    await checkNew("well");
    pass(keysMs - minuteMs);
    const token = await sign();
    assert.equal(await check(token), "oidc:ann");
    await checkNew("failing");
    pass(minuteMs);
    assert.equal(await check(token), "oidc:ann", "it was verified before");
    pass(2 * minuteMs);
    assert.match(await check(token), /responded with 500$/);
    await checkNew("garbled");
    assert.match(await check(token), /cannot be read/);
    await checkNew("well");
    assert.equal(await check(token), "invalid");
  });
});
