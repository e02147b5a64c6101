/**
 * Signing in with OpenID, and attacks on it: OpenID Connect Core 1.0 (section 3.1), RFC 7636 (PKCE), RFC 9207
 * (issuer mix-up) and RFC 9700 (sections 2.1 and 4).
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, beforeEach, describe, it } from "node:test";

import { roles } from "../../../src/users/user.ts";
import { call, type HttpResponse } from "../../support/http.ts";
import { audience, goodCode, startIssuer } from "../../support/issuer.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";
import { startTopicsyncHere, type TestService } from "../../support/service.ts";
import {
  assertFailed,
  beginSignIn as begin,
  clientId,
  findSessionCookie,
  get,
  getLastCredentials,
  path,
  publicUrl,
  returnFromProvider as complete,
  type Return,
  type Sent,
} from "../../support/sign-in.ts";

const issuer = await startIssuer();
const clientSecret = "a secret of the client: ü";
keepSecret(clientSecret, goodCode);
const here = useService({
  HTTP_PUBLIC_URL: publicUrl,
  OIDC_ISSUER: issuer.url,
  OIDC_AUDIENCE: audience,
  OIDC_CLIENT_ID: clientId,
  OIDC_CLIENT_SECRET: clientSecret,
});
let there: TestService;

before(async () => {
  there = await startTopicsyncHere({ ...here.settings, HTTP_PUBLIC_URL: `${publicUrl}/` });
  await there.ready();
});

const beginSignIn = (): Promise<Sent> => begin(here);
const returnFromProvider = (
  sent: Sent,
  { at = here, ...change }: Return & { at?: { readonly url: string } } = {},
): Promise<HttpResponse> => complete(at, issuer, sent, change);

const waitForLog = (reason: RegExp): Promise<unknown> =>
  until(`the log says ${reason}`, () =>
    here.log.find((line) => line.msg === "OpenID sign-in failed" && reason.test(String(line["reason"]))),
  );

describe("signing in with OpenID", () => {
  it("redirects the browser to the provider, with a state that is bound to this browser", async () => {
    const response = await get(`${here.url}${path}/openid`);
    const location = new URL(response.headers.get("location") ?? "");
    assert.equal(`${location.origin}${location.pathname}`, `${issuer.url}/authorize`);
    const { state, nonce, code_challenge: challenge, ...rest } = Object.fromEntries(location.searchParams);
    assert.deepEqual(rest, {
      client_id: clientId,
      redirect_uri: `${publicUrl}${path}/openid/callback`,
      response_type: "code",
      scope: "openid",
      code_challenge_method: "S256",
    });
    assert.match(
      response.headers.get("set-cookie") ?? "",
      /^__Host-topicsync_sign_in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    assert.equal(response.headers.get("cache-control"), "no-store");
    const other = Object.fromEntries((await beginSignIn()).asked);
    const all = [state, nonce, challenge, other["state"], other["nonce"], other["code_challenge"]];
    assert.equal(new Set(all).size, 6);
    for (const one of all) assert.match(one ?? "", /^[\w-]{43}$/);
  });

  it("starts a session with the name and roles from the provider, on any instance", async () => {
    const sub = unique("ann");
    const sent = await beginSignIn();
    const response = await returnFromProvider(sent, {
      claims: { sub, roles: [roles.eventManagement, "something-else"] },
      at: there,
    });
    assert.deepEqual([response.status, response.headers.get("location")], [302, "/console"]);
    assert.match(
      findSessionCookie(response),
      /^__Host-topicsync_session=[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Strict$/,
    );
    assert.match(response.headers.getSetCookie().join("\n"), /^__Host-topicsync_sign_in=; Max-Age=0;/m);

    const [cookie = ""] = findSessionCookie(response).split(";", 1);
    const { status, json } = await get(`${here.url}${path}`, cookie);
    keepSecret(cookie.split("=")[1], json.csrfToken);
    assert.deepEqual([status, json.user, json.roles], [200, `oidc:${sub}`, [roles.eventManagement]]);
    const left = Date.parse(json.expiresOn) - Date.now();
    assert.ok(left > 0 && left <= 8 * 3_600_000, "at most the documented eight hours");
    const line = await until("it is recorded", () =>
      there.log.find((one) => one.msg === "session.began" && one["by"] === `oidc:${sub}`),
    );
    assert.equal(line["via"], "http");

    const topic = { name: "By OpenID", externalId: unique("topic") };
    const create = (headers: Record<string, string>) =>
      call(`${here.url}/api/svc_api_notif_mgmt/topic`, { as: undefined, headers, body: topic });
    assert.equal((await create({ Cookie: cookie })).status, 401, "rejected without the CSRF token");
    const ours = { Cookie: cookie, "X-CSRF-Token": json.csrfToken };
    assert.equal((await create(ours)).status, 201);
    await call(`${here.url}${path}/end`, { as: undefined, headers: ours, body: {} });
    assert.equal((await get(`${there.url}${path}`, cookie)).status, 401);
  });

  it("exchanges the code with the client secret and the PKCE verifier", async () => {
    const sent = await beginSignIn();
    assert.equal((await returnFromProvider(sent)).headers.get("location"), "/console");
    const { body } = issuer.getLastExchange();
    const verifier = body.get("code_verifier") ?? "";
    const digest = createHash("sha256").update(verifier).digest("base64url");
    assert.equal(digest, sent.asked.get("code_challenge"));
    assert.equal(body.get("redirect_uri"), `${publicUrl}${path}/openid/callback`);
    assert.deepEqual(getLastCredentials(issuer), [clientId, clientSecret]);
  });

  it("grants no role if the provider names none of ours", async () => {
    for (const given of [undefined, ["other"], { [roles.eventManagement]: true }]) {
      const response = await returnFromProvider(await beginSignIn(), { claims: { roles: given } });
      const [cookie = ""] = findSessionCookie(response).split(";", 1);
      assert.deepEqual((await get(`${here.url}${path}`, cookie)).json.roles, []);
    }
  });
});

describe("a sign-in", () => {
  it("cannot be completed in another browser, twice, or without the cookie", async () => {
    const [strangers, mine] = [await beginSignIn(), await beginSignIn()];
    assertFailed(await returnFromProvider({ ...strangers, cookie: mine.cookie }), "expired");
    assertFailed(await returnFromProvider({ ...strangers, cookie: "" }), "expired");
    assertFailed(await returnFromProvider({ ...strangers, cookie: "__Host-topicsync_sign_in=" }), "expired");
    // Over TLS, a cookie without the prefix is ignored: another host could have set it.
    const plain = strangers.cookie.replace("__Host-", "");
    assertFailed(await returnFromProvider({ ...strangers, cookie: plain }), "expired");
    const response = await returnFromProvider(mine);
    assert.equal(response.headers.get("location"), "/console");
    const after = (response.headers.getSetCookie()[1] ?? "").split(";", 1)[0] ?? "";
    assertFailed(await returnFromProvider({ ...mine, cookie: after }), "expired");
  });

  it("fails with a missing, wrong or repeated state", async () => {
    const sent = await beginSignIn();
    for (const state of ["", "x", sent.cookie.split("=")[1] ?? ""])
      assertFailed(await returnFromProvider(sent, { response: { state } }), "expired");
    const url = `${here.url}${path}/openid/callback`;
    assertFailed(await get(url, sent.cookie), "expired");
    const twice = `${url}?code=${goodCode}&state=${sent.asked.get("state")}&state=x&iss=${issuer.url}`;
    assertFailed(await get(twice, sent.cookie), "rejected");
  });

  it("keeps existing sessions, and starts a new one each time", async () => {
    const getCookie = (response: HttpResponse) => findSessionCookie(response).split(";", 1)[0] ?? "";
    const one = getCookie(await returnFromProvider(await beginSignIn()));
    const other = getCookie(await returnFromProvider(await beginSignIn()));
    assert.notEqual(one, other);
    const sent = await beginSignIn();
    const fixed = await returnFromProvider({ ...sent, cookie: `${sent.cookie}; ${one}` });
    assert.ok(
      findSessionCookie(fixed) !== "" && !findSessionCookie(fixed).startsWith(one),
      "the existing session id is not reused",
    );
  });
});

describe("a response from the provider", () => {
  // A success resets the throttle.
  beforeEach(async () => {
    assert.equal((await returnFromProvider(await beginSignIn())).headers.get("location"), "/console");
  });

  const now = () => Math.floor(Date.now() / 1_000);
  for (const [what, change, reason, why] of [
    ["that names another issuer", { response: { iss: "https://evil.example.org" } }, "rejected", /iss/],
    ["with an invalid code", { response: { code: "stolen" } }, "rejected", /invalid_grant/],
    ["that the user declined", { response: { error: "access_denied" } }, "declined", undefined],
    [
      "that it is overloaded",
      { response: { error: "temporarily_unavailable" } },
      "unavailable",
      /temporarily/,
    ],
    [
      "that the client is not authorized",
      { response: { error: "unauthorized_client" } },
      "rejected",
      /unauthorized_client/,
    ],
    ["with an unknown error", { response: { error: "constructor" } }, "rejected", /constructor/],
    ["with a token for another client", { claims: { aud: "another" } }, "rejected", /aud/],
    ["with a token of another issuer", { claims: { iss: "https://evil.example.org" } }, "rejected", /iss/],
    ["with a token of another sign-in", { claims: { nonce: "another" } }, "rejected", /nonce/],
    ["with a token without a nonce", { claims: { nonce: undefined } }, "rejected", /nonce/],
    ["with an expired token", { claims: { exp: now() - 60 } }, "rejected", /exp|timestamp/],
    ["with a token signed by an unknown key", { header: { kid: "key-0" } }, "rejected", /key|JWK/i],
    ["without a valid user name", { claims: { sub: "x".repeat(201) } }, "nameless", /sub/],
  ] as const) {
    it(`${what} fails: ${reason}`, async () => {
      assertFailed(await returnFromProvider(await beginSignIn(), change), reason);
      if (why !== undefined) await waitForLog(why);
    });
  }

  it("may have some clock skew", async () => {
    for (const claims of [{ exp: now() - 5 }, { iat: now() + 10, nbf: now() + 10 }])
      assert.equal(
        (await returnFromProvider(await beginSignIn(), { claims })).headers.get("location"),
        "/console",
      );
  });

  it("is throttled after repeated failures", async () => {
    const sent = await beginSignIn();
    const madeUp = { response: { code: "made-up" }, at: there };
    for (let tried = 0; tried < 10; tried += 1)
      assertFailed(await returnFromProvider(sent, madeUp), "rejected");
    assertFailed(await returnFromProvider(sent, madeUp), "throttled");
    assertFailed(await returnFromProvider(sent, { at: there }), "throttled");
  });
});
