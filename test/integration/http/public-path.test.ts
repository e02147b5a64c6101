/** A service behind a reverse proxy, at a path of its host. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { startPathProxy, type PathProxy } from "../../support/path-proxy.ts";
import { stage } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";
import { bootstrap, runCli, type TestService } from "../../support/service.ts";

const sessionPath = "/api/topicsync/v1/session";
// It is also the beginning of the service's own paths.
const path = "/api/topicsync";
const { start } = stage().scene();
let service: TestService;
let secure: TestService;
let proxies: readonly PathProxy[];

before(async () => {
  const getTarget = (): string => service.url;
  proxies = await Promise.all(
    [false, true].map((keepsPath) => startPathProxy({ path, getTarget, keepsPath })),
  );
  // Both proxies are at the same path; that they differ in the port matters to cross-site checks only.
  service = await start({ HTTP_PUBLIC_URL: `${proxies[0]?.publicUrl}/` });
  secure = await start({ HTTP_PUBLIC_URL: `https://example.org${path}` });
});

const get = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { redirect: "manual", headers });

const getStatus = async (...given: Parameters<typeof get>): Promise<number> => {
  const response = await get(...given);
  await response.arrayBuffer();
  return response.status;
};

const signIn = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}${sessionPath}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(bootstrap),
  });

/** Returns the cookie of a new session, and its attributes. */
async function readCookie(response: Response) {
  assert.equal(response.status, 200);
  const { csrfToken } = (await response.json()) as { csrfToken: string };
  const [, name = "", id = "", rest = ""] =
    /^([\w-]+)=([\w-]{43});(.*)$/.exec(response.headers.get("set-cookie") ?? "") ?? [];
  keepSecret(id, csrfToken);
  return { name, id, csrfToken, rest };
}

for (const [index, name] of ["removes the path", "keeps the path"].entries())
  describe(`behind a proxy that ${name}`, () => {
    const getUrl = (): string => proxies[index]?.publicUrl ?? "";

    it("redirects to the console below the path, with and without a slash at the end", async () => {
      for (const end of ["", "/"]) {
        const { status, headers } = await get(`${getUrl()}${end}`);
        assert.deepEqual([status, headers.get("location")], [302, `${path}/console`]);
      }
    });

    it("serves documentation and OpenAPI, whose addresses are below the path", async () => {
      const { origin } = new URL(getUrl());
      const html = await (await get(`${getUrl()}/docs`)).text();
      const files = Array.from(html.matchAll(/(?:src|href)="(\/[^"]*)"/g), ([, file = ""]) => file);
      assert.equal(files.length, 3);
      for (const file of files) assert.equal(await getStatus(`${origin}${file}`), 200, file);
      const script = await (await get(`${getUrl()}/docs/page.js`)).text();
      assert.match(script, /url: "\/api\/topicsync\/openapi\.json"/);
      const { servers } = (await (await get(`${getUrl()}/openapi.json`)).json()) as { servers: object[] };
      assert.deepEqual(servers, [{ url: path, description: "This server" }]);
    });

    it("sets a session cookie for the path, which works and is cleared there", async () => {
      const set = await readCookie(await signIn(getUrl()));
      assert.equal(set.name, "topicsync_session");
      assert.match(set.rest, /^ Path=\/api\/topicsync; Expires=[^;]+; HttpOnly; SameSite=Strict$/);
      const headers = { Cookie: `${set.name}=${set.id}`, "X-CSRF-Token": set.csrfToken };
      assert.equal(await getStatus(`${getUrl()}${sessionPath}`, headers), 200);
      const ended = await fetch(`${getUrl()}${sessionPath}/end`, { method: "POST", headers });
      assert.match(ended.headers.get("set-cookie") ?? "", /^topicsync_session=; Path=\/api\/topicsync; /);
      assert.equal(await getStatus(`${getUrl()}${sessionPath}`, headers), 401);
    });

    it("has the same errors below the path", async () => {
      for (const [method, below, expected] of [
        ["GET", "/nothing", 404],
        ["GET", "/api/topicsync/v1/users", 401],
        ["PUT", sessionPath, 405],
      ] as const) {
        const response = await fetch(`${getUrl()}${below}`, { method });
        assert.equal(response.status, expected, below);
        assert.match(response.headers.get("content-type") ?? "", /json/);
      }
    });
  });

describe("a service at a path", () => {
  it("compares origins, not paths, to find requests of other sites", async () => {
    const { origin } = new URL(proxies[0]?.publicUrl ?? "");
    for (const [given, status] of [
      [origin, 200],
      [`${origin}${path}`, 403],
      ["https://example.org", 403],
    ] as const) {
      const response = await signIn(proxies[0]?.publicUrl ?? "", { Origin: given });
      assert.equal(response.status, status, given);
      if (status === 200) await readCookie(response);
    }
  });

  it("names its cookie __Secure- over TLS, since __Host- allows no path", async () => {
    const set = await readCookie(await signIn(secure.url));
    assert.equal(set.name, "__Secure-topicsync_session");
    assert.match(set.rest, /^ Path=\/api\/topicsync; Expires=[^;]+; HttpOnly; Secure; SameSite=Strict$/);
    for (const [name, status] of [
      ["__Secure-topicsync_session", 200],
      ["__Host-topicsync_session", 401],
      ["topicsync_session", 401],
    ] as const) {
      const headers = { Cookie: `${name}=${set.id}`, "X-CSRF-Token": "" };
      assert.equal(await getStatus(`${secure.url}${sessionPath}`, headers), status, name);
    }
  });

  it("is a server for the command line by its public URL", async () => {
    const server = `${proxies[0]?.publicUrl}/`;
    const credentials = { TOPICSYNC_USER: bootstrap.user, TOPICSYNC_PASSWORD: bootstrap.password };
    const listed = await runCli(["users", "list", "--json", "--server", server], credentials);
    assert.equal(listed.code, 0, listed.errors);
    assert.match(listed.output, new RegExp(`"${bootstrap.user}"`));
  });

  it("does not strip the path in the middle of a segment, nor twice", async () => {
    for (const below of [`${path}x/openapi.json`, `${path}${path}/openapi.json`])
      assert.equal(await getStatus(`${service.url}${below}`), 404, below);
  });
});
