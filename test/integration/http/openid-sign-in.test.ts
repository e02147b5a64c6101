/**
 * Signing in with OpenID, and attacks on it: OpenID Connect Core 1.0 (section 3.1), RFC 7636 (PKCE), RFC 9207
 * (issuer mix-up) and RFC 9700 (sections 2.1 and 4).
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, beforeEach, describe, it } from "node:test";

import { readConfig } from "../../../src/config.ts";
import { ConfigurationError } from "../../../src/lib/errors.ts";
import { roles } from "../../../src/users/user.ts";
import { call, type HttpResponse } from "../../support/http.ts";
import {
  audience,
  countMaxRequests,
  failureIntervalMs,
  goodCode,
  startIssuer,
} from "../../support/issuer.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";
import { ownNames, startTopicsync, startTopicsyncHere, type TestService } from "../../support/service.ts";

const issuer = await startIssuer();
const publicUrl = "https://topicsync.example.org";
const [clientId, clientSecret] = ["topicsync-console", "a secret of the client: ü"];
keepSecret(clientSecret, goodCode);
const here = useService({
  HTTP_PUBLIC_URL: publicUrl,
  OIDC_ISSUER: issuer.url,
  OIDC_AUDIENCE: audience,
  OIDC_CLIENT_ID: clientId,
  OIDC_CLIENT_SECRET: clientSecret,
});
const path = "/api/topicsync/v1/session";
let there: TestService;

before(async () => {
  there = await startTopicsync({ ...here.settings, HTTP_PUBLIC_URL: `${publicUrl}/` });
  await there.ready();
});

const get = (url: string, cookie?: string): Promise<HttpResponse> =>
  call(url, { method: "GET", as: undefined, headers: cookie === undefined ? {} : { Cookie: cookie } });

/** A browser that was redirected to the provider: its cookie, and the parameters of the redirect. */
interface Sent {
  readonly cookie: string;
  readonly asked: URLSearchParams;
}

async function beginSignIn(): Promise<Sent> {
  const response = await get(`${here.url}${path}/openid`);
  assert.equal(response.status, 302);
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";", 1);
  const asked = new URL(response.headers.get("location") ?? "").searchParams;
  keepSecret(cookie.split("=")[1]);
  return { cookie, asked };
}

/** Returns from the provider, which exchanges the code for an ID token with these claims and the nonce. */
function returnFromProvider(
  { cookie, asked }: Sent,
  {
    claims = {},
    header = {},
    response = {},
    at = here,
  }: {
    claims?: Readonly<Record<string, unknown>>;
    header?: Readonly<Record<string, unknown>>;
    response?: Readonly<Record<string, string>>;
    at?: { readonly url: string };
  } = {},
): Promise<HttpResponse> {
  issuer.setCodeToken({ aud: clientId, nonce: asked.get("nonce"), ...claims }, header);
  const good = { code: goodCode, state: asked.get("state") ?? "", iss: issuer.url };
  const query = new URLSearchParams({ ...good, ...response }).toString();
  return get(`${at.url}${path}/openid/callback?${query}`, cookie);
}

const findSessionCookie = (response: HttpResponse): string =>
  response.headers.getSetCookie().find((one) => one.startsWith("__Host-topicsync_session=")) ?? "";

/** Asserts that nobody is signed in and that the redirect names the reason. */
function assertFailed(response: HttpResponse, reason: string): void {
  assert.deepEqual(
    [response.status, response.headers.get("location"), findSessionCookie(response)],
    [302, `/console?sign-in=${reason}`, ""],
  );
}

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
    const { authorization, body } = issuer.getLastExchange();
    const verifier = body.get("code_verifier") ?? "";
    const digest = createHash("sha256").update(verifier).digest("base64url");
    assert.equal(digest, sent.asked.get("code_challenge"));
    assert.equal(body.get("redirect_uri"), `${publicUrl}${path}/openid/callback`);
    // RFC 6749, section 2.3.1: both parts are form-encoded in HTTP Basic.
    const credentials = Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":");
    const plain = credentials.map((one) => new URLSearchParams(`one=${one}`).get("one"));
    assert.deepEqual(plain, [clientId, clientSecret]);
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

describe("the provider", () => {
  // An empty setting counts as not set.
  const publicClient = { ...here.settings, OIDC_CLIENT_SECRET: "" };

  it("may be unavailable: the console shows it, and signing in works once it is available again", async () => {
    const away = await startIssuer();
    const other = await startTopicsyncHere({ ...publicClient, ...ownNames(), OIDC_ISSUER: away.url });
    await other.ready();
    const ask = () => get(`${other.url}${path}/openid`);
    for (const behaviour of ["failing", "garbled"] as const) {
      away.setBehaviour(behaviour);
      const changedAt = performance.now();
      await until("it is asked", async () => {
        for (let times = 0; times < 20; times += 1) assertFailed(await ask(), "unavailable");
        return away.countRequests() > 0;
      });
      const max = countMaxRequests(changedAt, failureIntervalMs);
      assert.ok(away.countRequests() <= max, "the provider is not asked for each sign-in");
    }
    away.setBehaviour("well");
    const isRedirected = async () =>
      (await ask()).headers.get("location")?.startsWith(`${away.url}/authorize`);
    await until("signing in works again", isRedirected);
    await other.stop();
  });

  it("is asked for UserInfo if the ID token has no roles, which must have the same subject", async () => {
    const userInfo = { sub: "ann", roles: [roles.eventManagement] };
    const withUserInfo = await startIssuer(userInfo);
    const other = await startTopicsyncHere({ ...publicClient, ...ownNames(), OIDC_ISSUER: withUserInfo.url });
    await other.ready();
    const signInAs = async (sub: string): Promise<HttpResponse> => {
      const begun = await get(`${other.url}${path}/openid`);
      const [cookie = ""] = (begun.headers.get("set-cookie") ?? "").split(";", 1);
      keepSecret(cookie.split("=")[1]);
      const asked = new URL(begun.headers.get("location") ?? "").searchParams;
      withUserInfo.setCodeToken({ aud: clientId, nonce: asked.get("nonce"), sub });
      const query = new URLSearchParams({
        code: goodCode,
        state: asked.get("state") ?? "",
        iss: withUserInfo.url,
      }).toString();
      return get(`${other.url}${path}/openid/callback?${query}`, cookie);
    };
    const [cookie = ""] = findSessionCookie(await signInAs("ann")).split(";", 1);
    const { json } = await get(`${other.url}${path}`, cookie);
    keepSecret(cookie.split("=")[1], json.csrfToken);
    assert.deepEqual([json.user, json.roles], ["oidc:ann", [roles.eventManagement]]);
    assertFailed(await signInAs("eve"), "rejected");
    await other.stop();
  });

  it("can be replaced in the settings, which invalidates sign-ins begun with the old one", async () => {
    const response = await returnFromProvider(await beginSignIn(), {
      claims: { roles: [roles.eventManagement] },
    });
    const [cookie = ""] = findSessionCookie(response).split(";", 1);
    assert.equal((await get(`${here.url}${path}`, cookie)).status, 200);
    const { modifiedCount } = await here.db
      .collection("topicsync_sessions")
      .updateMany({ issuer: issuer.url }, { $set: { issuer: "https://former.example.org" } });
    assert.ok(modifiedCount > 0);
    assert.equal((await get(`${here.url}${path}`, cookie)).status, 401);
  });

  it("is listed as a sign-in method with its URL", async () => {
    const methods = await get(`${here.url}${path}/sign-in-methods`);
    const { host } = new URL(issuer.url);
    assert.deepEqual(methods.json, { openId: { provider: host, url: `${publicUrl}${path}/openid` } });
  });

  it("needs complete settings, and HTTPS unless it is local", () => {
    const good = {
      OIDC_ISSUER: "https://id.example.org",
      OIDC_AUDIENCE: audience,
      OIDC_CLIENT_ID: clientId,
      HTTP_PUBLIC_URL: `${publicUrl}/`,
    };
    assert.deepEqual(readConfig(good).signIn, {
      issuer: good.OIDC_ISSUER,
      audience,
      rolesClaim: "roles",
      userClaim: "sub",
      roleMap: new Map(),
      tokenType: undefined,
      clientId,
      clientSecret: undefined,
      scope: "openid",
      publicUrl,
    });
    for (const [wrong, name] of [
      [{ ...good, HTTP_PUBLIC_URL: "" }, "HTTP_PUBLIC_URL"],
      [{ ...good, HTTP_PUBLIC_URL: "http://topicsync.example.org" }, "HTTP_PUBLIC_URL"],
      [{ ...good, HTTP_PUBLIC_URL: `${publicUrl}/path` }, "HTTP_PUBLIC_URL"],
      [{ ...good, OIDC_ISSUER: "", OIDC_AUDIENCE: "" }, "OIDC_ISSUER"],
      [{ ...good, OIDC_CLIENT_ID: "", OIDC_CLIENT_SECRET: clientSecret }, "OIDC_CLIENT_ID"],
      [{ ...good, OIDC_SCOPE: "profile" }, "OIDC_SCOPE"],
    ] as const) {
      assert.throws(
        () => readConfig(wrong),
        (error) => error instanceof ConfigurationError && error.message.includes(name),
      );
    }
  });
});
