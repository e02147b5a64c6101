import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { generateKeyPair, SignJWT, UnsecuredJWT } from "jose";

import { ConfigurationError } from "@topicsync/lib/errors";
import { readConfig } from "../../../src/config/config.ts";
import { InvalidTokenError } from "../../../src/users/openid.ts";
import { createVerifyToken } from "../../../src/users/bearer-token.ts";
import { roles } from "../../../src/users/user.ts";
import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { audience, countMaxRequests, failureIntervalMs, startIssuer } from "../../support/issuer.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { bootstrap, ownNames, runCli, startTopicsyncHere } from "../../support/service.ts";

/** How long jose waits before it asks for unknown keys again. */
const keyIntervalMs = 30_000;
const startedAt = performance.now();
const issuer = await startIssuer();
const service = useService({ OIDC_AUDIENCE: audience, OIDC_ISSUER: issuer.url });

const as = (token: string, scheme = "Bearer") => ({
  as: undefined,
  headers: { Authorization: `${scheme} ${token}` },
});
const getSync = (token: string, scheme?: string): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/sync`, { method: "GET", ...as(token, scheme) });
const createTopic = (
  token: string,
  externalId = unique("topic"),
  at: { readonly url: string } = service,
): Promise<HttpResponse> =>
  call(`${at.url}/api/svc_api_notif_mgmt/topic`, { body: { name: externalId, externalId }, ...as(token) });
const now = (): number => Math.floor(Date.now() / 1_000);

function assertRejected(response: HttpResponse, why: RegExp): void {
  assertError(response, 401, "UNAUTHENTICATED");
  const challenge = response.headers.get("www-authenticate") ?? "";
  assert.match(
    challenge,
    /^Bearer realm="topicsync", error="invalid_token", error_description="[^"]*", Basic realm=/,
  );
  assert.match(challenge, why);
}

describe("a bearer token", () => {
  it("identifies a user by the issuer and the claims, under a name that no stored user has", async () => {
    const externalId = unique("topic");
    const token = await issuer.token({ roles: [roles.eventManagement, "something-else"] });
    assert.equal((await createTopic(token, externalId)).status, 201);
    const line = await until("it is recorded", () =>
      service.log.find((one) => one["audit"] === true && one["externalId"] === externalId),
    );
    assert.equal(line["by"], "oidc:ann");
    assert.equal((await getSync(token, "bearer")).status, 200, "the scheme is case-insensitive");
    const taken = await runCli(["users", "add", "oidc:ann"], service.settings, "password");
    assert.equal(taken.code, 64);
  });

  it("without a role allows operations that require none", async () => {
    for (const claims of [{}, { roles: "other" }, { roles: { [roles.eventManagement]: true } }]) {
      const token = await issuer.token(claims);
      assert.equal((await getSync(token)).status, 200);
      assert.equal((await createTopic(token)).status, 403);
    }
    assert.equal(
      (await createTopic(await issuer.token({ roles: `a ${roles.eventManagement}` }))).status,
      201,
    );
  });

  it("without the claim of the roles is rejected with the name of the claim", async () => {
    const missing = await createTopic(await issuer.token({ roles: undefined }));
    assertError(missing, 403, "FORBIDDEN");
    assert.match(missing.json.error.detail, /no claim "roles" \(OIDC_ROLES_CLAIM\)\.$/);
    const overage = { roles: undefined, _claim_names: { roles: "src1" } };
    const { json } = await createTopic(await issuer.token(overage));
    assert.match(json.error.detail, /no claim "roles".* in too many groups/);
  });

  it("may have several audiences, and some clock skew", async () => {
    assert.equal((await getSync(await issuer.token({ aud: ["other", audience] }))).status, 200);
    assert.equal((await getSync(await issuer.token({ exp: now() - 5 }))).status, 200);
    assert.equal((await getSync(await issuer.token({ nbf: now() + 5 }))).status, 200);
  });

  it("is rejected once it expires, even if it was accepted before", async () => {
    let clock = Date.now();
    const config = {
      issuer: issuer.url,
      audience,
      rolesClaim: "roles",
      userClaim: "sub",
      roleMap: new Map(),
      tokenType: undefined,
    };
    const verify = createVerifyToken(config, () => clock);
    const check = (one: string) => verify(one, () => Promise.resolve());
    const token = await issuer.token({ exp: Math.floor(clock / 1_000) + 60 });
    assert.equal((await check(token)).name, "oidc:ann");
    clock += 59_000;
    assert.equal((await check(token)).name, "oidc:ann");
    clock += 35_000;
    await assert.rejects(async () => check(token), InvalidTokenError);
  });

  it("works alongside HTTP Basic, and a 401 offers both schemes", async () => {
    const url = `${service.url}/api/topicsync/v1/sync`;
    assert.equal((await call(url, { method: "GET", as: bootstrap })).status, 200);
    const response = await call(url, { method: "GET", as: undefined });
    assert.equal(response.status, 401);
    assert.equal(
      response.headers.get("www-authenticate"),
      'Basic realm="topicsync", charset="UTF-8", Bearer realm="topicsync"',
    );
    const { json } = await call(`${service.url}/openapi.json`, { method: "GET", as: undefined });
    assert.deepEqual(Object.keys(json.components.securitySchemes), ["basic", "key", "session", "bearer"]);
  });
});

describe("a hostile token", () => {
  const claims = {
    iss: issuer.url,
    aud: audience,
    sub: "eve",
    roles: [roles.eventManagement],
    exp: now() + 300,
  };

  it("without a signature is rejected", async () => {
    const none = new UnsecuredJWT(claims).encode();
    assertRejected(await getSync(none), /JWS|alg/i);
    const [, payload = ""] = none.split(".");
    const head = Buffer.from('{"alg":"none","kid":"key-1"}').toString("base64url");
    assertRejected(await getSync(`${head}.${payload}.`), /alg/i);
  });

  it("signed with the public key as a shared secret is rejected", async () => {
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: "key-1" })
      .sign(new TextEncoder().encode(issuer.publicKey));
    assertRejected(await getSync(token), /alg/i);
  });

  it("signed with another key is rejected, under a known key id, an unknown one, and with an embedded key", async () => {
    const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
    const jwk = await crypto.subtle.exportKey("jwk", publicKey);
    for (const header of [{ kid: "key-1" }, { kid: "key-0" }, {}, { jwk }, { jku: `${service.url}/keys` }]) {
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: "RS256", ...(header as object) })
        .sign(privateKey);
      assertRejected(await getSync(token), /signature|key/i);
    }
  });

  for (const [what, changed, why] of [
    ["for another audience", { aud: "another" }, /aud/],
    ["for another audience than the setting's", { aud: "another" }, /another.*OIDC_AUDIENCE/],
    ["for no audience", { aud: undefined }, /aud/],
    ["for a client only", { aud: undefined, client_id: "app" }, /'app' in client_id alone/],
    ["of another issuer", { iss: "https://example.org" }, /iss/],
    ["that has expired", { exp: now() - 60 }, /exp/],
    ["that never expires", { exp: undefined }, /exp/],
    ["that is not valid yet", { nbf: now() + 600 }, /nbf/],
    ["without a user", { sub: undefined }, /sub/],
    ["with an empty name", { sub: "" }, /sub/],
    ["with a name that is not text", { sub: { $ne: 1 } }, /sub/],
    ["with a line break in the name", { sub: "ann\nbob" }, /sub/],
    ["with a very long name", { sub: "x".repeat(201) }, /sub/],
  ] as const) {
    it(`${what} is rejected`, async () => {
      assertRejected(await getSync(await issuer.token(changed)), why);
    });
  }

  it("that was changed or is malformed is rejected", async () => {
    const [head = "", , signature = ""] = (await issuer.token()).split(".");
    const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
    for (const token of [`${head}.${payload}.${signature}`, "x", "a.b.c", `${head}..${signature}`, '"']) {
      assertRejected(await getSync(token), /./);
    }
  });

  it("with an unknown critical extension is rejected", async () => {
    await assert.doesNotReject(issuer.token());
    const critical = Buffer.from('{"alg":"RS256","kid":"key-1","crit":["x"],"x":1}').toString("base64url");
    const [, payload = "", signature = ""] = (await issuer.token()).split(".");
    assertRejected(await getSync(`${critical}.${payload}.${signature}`), /crit|x/i);
  });

  it("is logged once per kind of fault, whatever it contains", async () => {
    for (const aud of ["a", "b"]) await getSync(await issuer.token({ aud, roles: ["x".repeat(1_000)] }));
    const lines = service.log.filter(({ msg }) =>
      /^bearer token (?:rejected|has expired|gives no)/.test(String(msg)),
    );
    assert.deepEqual(lines.map(({ kind, level }) => `${String(kind)} ${String(level)}`).toSorted(), [
      "aud 40",
      "exp 30",
      "iss 40",
      "nbf 40",
      "roles 30",
      "signature 40",
      "user 40",
    ]);
    for (const line of lines) assert.ok(JSON.stringify(line).length < 1_000, "its size is limited");
    assert.match(
      String(lines.find(({ kind }) => kind === "aud")?.["reason"]),
      /OIDC_AUDIENCE is "topicsync"/,
    );
  });

  it("of 20 kB exceeds the header limit", async () => {
    const token = await issuer.token({ padding: "x".repeat(20_000) });
    assertError(await getSync(token), 431, "HEADERS_TOO_LARGE");
  });
});

describe("the issuer", () => {
  it("is asked for its keys once, and again for a new key, but not for each invented key id", async () => {
    const before = issuer.getKeyRequests();
    const max = 1 + countMaxRequests(startedAt, keyIntervalMs);
    assert.ok(before <= max, `${before} requests instead of one for all tokens above, one for unknown keys`);
    const changedAt = performance.now();
    for (let made = 0; made < 5; made += 1)
      assertRejected(await getSync(await issuer.token({}, { kid: `made-up-${made}` })), /key/);
    assert.ok(issuer.getKeyRequests() - before <= countMaxRequests(changedAt, keyIntervalMs));
  });

  it("may be unavailable: bearer tokens then get 503, and everything else works", async () => {
    const away = await startIssuer();
    const other = await startTopicsyncHere({ ...service.settings, ...ownNames(), OIDC_ISSUER: away.url });
    await other.ready();
    const url = `${other.url}/api/topicsync/v1/sync`;
    const ask = async (): Promise<HttpResponse> => call(url, { method: "GET", ...as(await away.token()) });
    for (const behaviour of ["failing", "garbled"] as const) {
      away.setBehaviour(behaviour);
      const changedAt = performance.now();
      const response = await until("it is asked", async () => {
        for (let times = 0; times < 19; times += 1) await ask();
        const one = await ask();
        return away.countRequests() > 0 ? one : undefined;
      });
      const max = countMaxRequests(changedAt, failureIntervalMs);
      assert.ok(away.countRequests() <= max, "the issuer is not asked for each token");
      assertError(response, 503, "UNAVAILABLE");
      assert.match(response.headers.get("retry-after") ?? "", /^\d+$/);
      assert.doesNotMatch(response.text, /127\.0\.0\.1/, "the address of the issuer is not disclosed");
    }
    assert.equal((await call(url, { method: "GET", as: bootstrap })).status, 200);
    away.setBehaviour("well");
    const token = await away.token();
    await until(
      "the token is accepted",
      async () => (await call(url, { method: "GET", ...as(token) })).status === 200,
    );
    away.setBehaviour("failing");
    assert.equal((await call(url, { method: "GET", ...as(token) })).status, 200, "a checked token is cached");
    assert.equal((await ask()).status, 200, "the keys are cached");
    await other.stop();
  });

  it("may demand access tokens (RFC 9068), so that ID tokens are rejected", async () => {
    const other = await startTopicsyncHere({ ...service.settings, ...ownNames(), OIDC_TOKEN_TYPE: "at+jwt" });
    await other.ready();
    const post = async (typ?: string) =>
      createTopic(
        await issuer.token({ roles: [roles.eventManagement] }, typ === undefined ? {} : { typ }),
        unique("topic"),
        other,
      );
    assert.equal((await post("at+jwt")).status, 201);
    assert.equal((await post("application/at+jwt")).status, 201);
    assertRejected(await post("JWT"), /typ/);
    assertRejected(await post(), /typ/);
    await other.stop();
  });

  it("is checked no more after many forged ones from its network, unless it was accepted before", async () => {
    const other = await startTopicsyncHere({ ...service.settings, ...ownNames() });
    await other.ready();
    const get = (token: string) =>
      call(`${other.url}/api/topicsync/v1/sync`, { method: "GET", ...as(token) });
    const known = await issuer.token();
    assert.equal((await get(known)).status, 200);
    const expired = await issuer.token({ exp: now() - 60 });
    for (let count = 0; count < 150; count += 1) assert.equal((await get(expired)).status, 401);
    for (let count = 0; count < 100; count += 1) assertRejected(await get(`forged.${count}`), /./);
    assertError(await get("forged"), 429, "TOO_MANY_ATTEMPTS");
    assertError(await get(await issuer.token({ sub: "bob" })), 429, "TOO_MANY_ATTEMPTS");
    assert.equal((await get(known)).status, 200);
    await other.stop();
  });

  it("may use other claims for roles and users", async () => {
    const names = { OIDC_ROLES_CLAIM: "realm_access.roles", OIDC_USER_CLAIM: "preferred_username" };
    const other = await startTopicsyncHere({ ...service.settings, ...ownNames(), ...names });
    await other.ready();
    const claims = { realm_access: { roles: [roles.eventManagement] }, preferred_username: "bob" };
    const externalId = unique("topic");
    assert.equal((await createTopic(await issuer.token(claims), externalId, other)).status, 201);
    const line = await until("it is recorded", () =>
      other.log.find((one) => one["externalId"] === externalId),
    );
    assert.equal(line["by"], "oidc:bob");
    await other.stop();
  });

  it("needs complete settings, and HTTPS unless it is local", () => {
    const good = { OIDC_ISSUER: "https://id.example.org/realms/a", OIDC_AUDIENCE: "topicsync" };
    assert.deepEqual(readConfig(good).oidc, {
      issuer: good.OIDC_ISSUER,
      audience: "topicsync",
      rolesClaim: "roles",
      userClaim: "sub",
      roleMap: new Map(),
      tokenType: undefined,
    });
    for (const [wrong, name] of [
      [{ OIDC_ISSUER: good.OIDC_ISSUER }, "OIDC_AUDIENCE"],
      [{ OIDC_AUDIENCE: "topicsync" }, "OIDC_ISSUER"],
      [{ ...good, OIDC_ISSUER: "http://id.example.org" }, "OIDC_ISSUER"],
      [{ ...good, OIDC_ISSUER: "http://127.0.0.1.example.org" }, "OIDC_ISSUER"],
      [{ ...good, OIDC_ISSUER: "id.example.org" }, "OIDC_ISSUER"],
    ] as const) {
      assert.throws(
        () => readConfig(wrong),
        (error) => error instanceof ConfigurationError && error.message.includes(name),
      );
    }
  });
});
