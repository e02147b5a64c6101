/**
 * Sessions of the console. The cookie follows RFC 6265bis, the protection against forgery the contract,
 * section 3.
 */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { call, type HttpResponse } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { ownNames, runCli, startTopicsyncHere, type TestService } from "../../support/service.ts";
import { keepSecret } from "../../support/secrets.ts";

const here = useService({ PUSH_APPLICATIONS: "App", PUSH_PLATFORMS: "ios" });
const sessions = here.db.collection<{ _id: string; expires_on: Date }>("topicsync_sessions");
const path = "/api/topicsync/v1/session";
const listPath = "/api/topicsync/v1/sessions";
let there: TestService;

before(async () => {
  there = await startTopicsyncHere(here.settings);
  await there.ready();
});

const password = "a password for the console";

async function addUser(): Promise<string> {
  const user = unique("user");
  await here.addUser(user, password);
  return user;
}

const signIn = (user: string, given = password): Promise<HttpResponse> =>
  call(`${here.url}${path}`, { as: undefined, body: { user, password: given } });

/** The headers that a browser sends after signing in. */
interface Browser {
  readonly Cookie: string;
  readonly "X-CSRF-Token": string;
}

async function signInBrowser(user: string): Promise<Browser> {
  const response = await signIn(user);
  assert.equal(response.status, 200, response.text);
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";", 1);
  keepSecret(cookie.split("=")[1], response.json.csrfToken);
  return { Cookie: cookie, "X-CSRF-Token": response.json.csrfToken };
}

const getSession = (at: { readonly url: string }, headers: Partial<Browser>): Promise<HttpResponse> =>
  call(`${at.url}${path}`, { method: "GET", as: undefined, headers: { ...headers } });

const register = (headers: Partial<Browser>): Promise<HttpResponse> =>
  call(`${here.url}/api/now/push/App/installation`, {
    as: undefined,
    headers: { ...headers },
    body: { platform: "ios", token: unique("token") },
  });

describe("a session", () => {
  it("starts with the right password, in a cookie for this service only, and is valid on every instance", async () => {
    const user = await addUser();
    const response = await signIn(user);
    assert.match(
      response.headers.get("set-cookie") ?? "",
      /^topicsync_session=[\w-]{43}; Path=\/; Expires=[^;]+ GMT; HttpOnly; SameSite=Strict$/,
    );
    assert.equal(response.headers.get("cache-control"), "no-store");
    const browser = await signInBrowser(user);
    for (const one of [here, there]) {
      const { status, json } = await getSession(one, browser);
      assert.deepEqual([status, json.user, json.roles], [200, user, []]);
    }
    assert.equal((await register(browser)).status, 200);
  });

  it("does not start with a wrong password, and the browser is not prompted for one", async () => {
    const response = await signIn(await addUser(), "wrong");
    assert.equal(response.status, 401);
    assert.equal(response.headers.get("www-authenticate"), 'Session realm="topicsync"');
    assert.equal(response.headers.get("set-cookie"), null);
  });

  it("changes nothing without its CSRF token", async () => {
    const { Cookie, ...token } = await signInBrowser(await addUser());
    const other = await signInBrowser(await addUser());
    for (const forged of [{}, { "X-CSRF-Token": "" }, { "X-CSRF-Token": other["X-CSRF-Token"] }])
      assert.equal((await register({ Cookie, ...forged })).status, 401);
    assert.equal((await register(token)).status, 401, "the token without the cookie is rejected");
  });

  it("ends at once on every instance when the user signs out", async () => {
    const browser = await signInBrowser(await addUser());
    const end = { as: undefined, headers: { ...browser }, body: {} };
    const ended = await call(`${here.url}${path}/end`, end);
    assert.equal(ended.status, 200);
    assert.match(
      ended.headers.get("set-cookie") ?? "",
      /^topicsync_session=; Path=\/; Expires=Thu, 01 Jan 1970/,
    );
    assert.equal((await getSession(there, browser)).status, 401);
  });

  it("ends when the user is disabled or gets a new password", async () => {
    const changes = [
      (user: string) => runCli(["users", "disable", user], here.settings),
      (user: string) => runCli(["users", "passwd", user], here.settings, "another password"),
    ];
    for (const change of changes) {
      const user = await addUser();
      const browser = await signInBrowser(user);
      const { code, errors } = await change(user);
      assert.equal(code, 0, errors);
      assert.equal((await getSession(here, browser)).status, 401);
    }
  });

  it("stays ended when the user is disabled and enabled again", async () => {
    const user = await addUser();
    const browser = await signInBrowser(user);
    for (const command of ["disable", "enable"])
      assert.equal((await runCli(["users", command, user], here.settings)).code, 0);
    assert.equal((await getSession(there, browser)).status, 401);
    assert.equal((await signIn(user)).status, 200);
  });

  it("expires, and is stored with the time of its expiry", async () => {
    const browser = await signInBrowser(await addUser());
    const { json } = await getSession(here, browser);
    assert.ok(Date.parse(json.expiresOn) > Date.now());
    const { modifiedCount } = await sessions.updateMany({}, { $set: { expires_on: new Date() } });
    assert.ok(modifiedCount > 0);
    await until("it has expired", async () => (await getSession(here, browser)).status === 401);
    const index = (await sessions.indexes()).find(({ key }) => "expires_on" in key);
    assert.equal(index?.expireAfterSeconds, 0);
  });

  it("stores nothing that could be used to sign in", async () => {
    const browser = await signInBrowser(await addUser());
    const stored = JSON.stringify(await sessions.find({}).toArray());
    for (const secret of [browser.Cookie.split("=")[1] ?? "", browser["X-CSRF-Token"]])
      assert.ok(secret.length === 43 && !stored.includes(secret));
  });

  it("starts with a password only, unless an OpenID provider is configured", async () => {
    const get = (rest: string): Promise<HttpResponse> =>
      call(`${here.url}${path}${rest}`, { method: "GET", as: undefined });
    assert.deepEqual((await get("/sign-in-methods")).json, {});
    for (const rest of ["/openid", "/openid/callback?code=x&state=y"])
      assert.equal((await get(rest)).status, 404);
  });
});

describe("one's own sessions", () => {
  const list = async (browser: Browser): Promise<{ id: string; current: boolean }[]> => {
    const headers = { ...browser };
    const { json } = await call(`${here.url}${listPath}`, { method: "GET", as: undefined, headers });
    return json.sessions as { id: string; current: boolean }[];
  };
  const post = (rest: string, browser: Browser, body?: object): Promise<HttpResponse> =>
    call(`${here.url}${path}${rest}`, { as: undefined, headers: { ...browser }, body });

  const end = (rest: string, browser: Browser): Promise<HttpResponse> =>
    call(`${here.url}${listPath}${rest}`, { method: "DELETE", as: undefined, headers: { ...browser } });

  it("can all be ended except the current one", async () => {
    const [user, other] = [await addUser(), await addUser()];
    const [first, second, third] = [
      await signInBrowser(user),
      await signInBrowser(user),
      await signInBrowser(user),
    ];
    const theirs = await signInBrowser(other);
    assert.equal((await end("", second)).status, 204);
    for (const ended of [first, third]) assert.equal((await getSession(there, ended)).status, 401);
    for (const kept of [second, theirs]) assert.equal((await getSession(there, kept)).status, 200);
  });

  it("are ended by an administrator, who sees how many there are", async () => {
    const user = await addUser();
    const browser = await signInBrowser(user);
    const ofUser = `${here.url}/api/topicsync/v1/users/${user}/sessions`;
    const { json } = await call(ofUser, { method: "GET" });
    assert.deepEqual(
      json.sessions.map(({ current }: { current: boolean }) => current),
      [false],
    );
    for (const method of ["GET", "DELETE"]) {
      const headers = { ...browser };
      assert.equal((await call(ofUser, { method, as: undefined, headers })).status, 403);
    }
    assert.equal((await call(ofUser, { method: "DELETE" })).status, 204);
    assert.equal((await getSession(there, browser)).status, 401);
    const federated = `${here.url}/api/topicsync/v1/users/${encodeURIComponent("oidc:ann")}/sessions`;
    assert.equal((await call(federated, { method: "DELETE" })).status, 204);
  });

  it("are listed, and can be ended one by one; those of others cannot", async () => {
    const [user, other] = [await addUser(), await addUser()];
    const [first, second, theirs] = [
      await signInBrowser(user),
      await signInBrowser(user),
      await signInBrowser(other),
    ];
    const open = await list(second);
    assert.deepEqual(open.map(({ current }) => current).toSorted(), [false, true]);
    const id = open.find(({ current }) => !current)?.id ?? "";
    assert.equal(
      (await getSession(here, { Cookie: `topicsync_session=${id}` })).status,
      401,
      "only a digest",
    );
    assert.equal((await end(`/${id}`, theirs)).status, 404);
    assert.equal((await getSession(there, first)).status, 200);
    assert.equal((await end(`/${id}`, second)).status, 204);
    assert.equal((await getSession(there, first)).status, 401);
    assert.equal((await getSession(there, second)).status, 200);
    assert.equal((await list(second)).length, 1);
  });

  it("end when the user changes the password, which requires the current one", async () => {
    const user = await addUser();
    const browser = await signInBrowser(user);
    const next = "another password of the user";
    const change = (currentPassword: string, given = next): Promise<HttpResponse> => {
      keepSecret(currentPassword);
      return post("/password", browser, { currentPassword, password: given });
    };
    assert.equal((await change("a wrong password")).status, 403);
    assert.equal((await change(password, "short")).status, 400);
    assert.equal((await getSession(here, browser)).status, 200);
    const other = await signInBrowser(user);
    const changed = await change(password);
    assert.equal(changed.status, 200);
    for (const ended of [browser, other]) assert.equal((await getSession(there, ended)).status, 401);
    const [cookie = ""] = (changed.headers.get("set-cookie") ?? "").split(";", 1);
    keepSecret(cookie.split("=")[1], changed.json.csrfToken);
    const renewed = await getSession(there, { Cookie: cookie });
    assert.deepEqual([renewed.status, renewed.json.csrfToken], [200, changed.json.csrfToken]);
    assert.equal((await signIn(user, next)).status, 200);
    const line = here.log.findLast(({ msg }) => msg === "user.password-changed");
    assert.deepEqual([line?.["by"], line?.["user"]], [user, user]);
  });

  it("do not help to guess the password: wrong guesses count as failed logins", async () => {
    const browser = await signInBrowser(await addUser());
    const statuses = [];
    for (let guess = 0; guess <= 10; guess += 1) {
      const body = { currentPassword: `a guess ${guess}`, password: "a password of the thief" };
      statuses.push((await post("/password", browser, body)).status);
    }
    assert.deepEqual(statuses.slice(-2), [403, 429]);
  });
});

describe("the session cookie over TLS", () => {
  it("is Secure and bound to the host if the public URL is HTTPS, and no other cookie is accepted", async () => {
    const service = await startTopicsyncHere({
      ...here.settings,
      ...ownNames(),
      HTTP_PUBLIC_URL: "https://topicsync.example.org",
    });
    await service.ready();
    const user = await addUser();
    const begun = await call(`${service.url}${path}`, { as: undefined, body: { user, password } });
    const set = begun.headers.get("set-cookie") ?? "";
    const id = /^__Host-topicsync_session=([\w-]{43});/.exec(set)?.[1] ?? "";
    keepSecret(id, begun.json.csrfToken);
    assert.match(
      set,
      /^__Host-topicsync_session=[\w-]{43}; Path=\/; Expires=[^;]+ GMT; HttpOnly; Secure; SameSite=Strict$/,
    );
    assert.equal((await getSession(service, { Cookie: `__Host-topicsync_session=${id}` })).status, 200);
    assert.equal((await getSession(service, { Cookie: `topicsync_session=${id}` })).status, 401);
    assert.equal((await getSession(here, { Cookie: `__Host-topicsync_session=${id}` })).status, 401);
    await service.stop();
  });

  it("is Secure behind a proxy only if the proxy is trusted and received the request over TLS", async () => {
    const service = await startTopicsyncHere({
      ...here.settings,
      ...ownNames(),
      HTTP_TRUSTED_PROXIES: "127.0.0.1",
    });
    await service.ready();
    const user = await addUser();
    const names = [];
    for (const scheme of ["https", "http"]) {
      const headers = { "X-Forwarded-Proto": scheme };
      const begun = await call(`${service.url}${path}`, { as: undefined, headers, body: { user, password } });
      const [name = "", id] = (begun.headers.get("set-cookie") ?? "").split(/[=;]/);
      keepSecret(id, begun.json.csrfToken);
      names.push(name);
    }
    assert.deepEqual(names, ["__Host-topicsync_session", "topicsync_session"]);
    await service.stop();
  });
});

describe("unknown sessions", () => {
  it("lead to 429 after many, which touches neither known sessions nor logins", async () => {
    const other = await startTopicsyncHere({ ...here.settings, ...ownNames() });
    await other.ready();
    const user = await addUser();
    const browser = await signInBrowser(user);
    assert.equal((await getSession(other, browser)).status, 200);
    const [name = ""] = browser.Cookie.split("=");
    for (let count = 0; count < 100; count += 1)
      assert.equal(
        (await getSession(other, { Cookie: `${name}=${"x".repeat(40)}${count + 100}` })).status,
        401,
      );
    assert.equal((await getSession(other, { Cookie: `${name}=${"y".repeat(43)}` })).status, 429);
    assert.equal((await getSession(other, browser)).status, 200);
    const body = { user, password };
    assert.equal((await call(`${other.url}${path}`, { as: undefined, body })).status, 200);
    await until("it is logged once", () =>
      other.log.find(({ msg }) => msg?.startsWith("too many unknown sessions") === true),
    );
    await other.stop();
  });
});
