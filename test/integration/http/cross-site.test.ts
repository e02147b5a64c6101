/**
 * What a browser sends with a request that another site's page makes it send (Fetch Metadata; RFC 6454,
 * section 7).
 */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { assertError, call, toBasicAuthorization, type HttpResponse } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { send } from "../../support/raw-http.ts";
import { stage } from "../../support/scene.ts";
import { bootstrap, type TestService } from "../../support/service.ts";

const { scene } = stage();
const user = "mallory";
let service: TestService;

before(async () => {
  service = await scene({
    HTTP_PUBLIC_URL: "https://topicsync.example.org",
    HTTP_TRUSTED_PROXIES: "127.0.0.1",
  }).start();
  const body = { name: user, password: unique("password"), roles: [] };
  assert.equal((await call(`${service.url}/api/topicsync/v1/users`, { body })).status, 201);
});

/** Sends what a form without a body would send. `fetch` allows these headers outside of browsers. */
const enable = (headers: Readonly<Record<string, string>>): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/users/${user}/enable`, { headers });

/** Like `enable`, with a Host header. */
async function enableAt(host: string, ...headers: string[]): Promise<number | undefined> {
  const lines = [
    `POST /api/topicsync/v1/users/${user}/enable HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: ${toBasicAuthorization(bootstrap)}`,
    "Content-Length: 0",
    "Connection: close",
    ...headers,
  ];
  return (await send(service.url, `${lines.join("\r\n")}\r\n\r\n`)).responses[0]?.status;
}

describe("a request that changes something", () => {
  for (const headers of [
    { "Sec-Fetch-Site": "cross-site" },
    { "Sec-Fetch-Site": "same-site" },
    { "Sec-Fetch-Site": "cross-site", Origin: "https://topicsync.example.org" },
    { Origin: "https://evil.example" },
    { Origin: "https://evil.topicsync.example.org" },
    { Origin: "http://topicsync.example.org" },
    { Origin: "null" },
    { Origin: "" },
  ]) {
    it(`is rejected from another site, with a password as well: ${JSON.stringify(headers)}`, async () => {
      assertError(await enable(headers), 403, "FORBIDDEN");
    });
  }

  it("is rejected before the credentials are looked at, also when it signs in", async () => {
    const signIn = (body: object): Promise<HttpResponse> =>
      call(`${service.url}/api/topicsync/v1/session`, {
        as: undefined,
        headers: { "Sec-Fetch-Site": "cross-site" },
        body,
      });
    assertError(await signIn(bootstrap), 403, "FORBIDDEN");
    const wrong = { ...bootstrap, password: "wrong password" };
    assertError(await signIn(wrong), 403, "FORBIDDEN");
  });

  it("is accepted from the service's own pages, and from programs", async () => {
    for (const headers of [
      {},
      { "Sec-Fetch-Site": "same-origin" },
      { "Sec-Fetch-Site": "none" },
      { Origin: "https://topicsync.example.org" },
      { Origin: service.url },
    ] as Record<string, string>[])
      assert.equal((await enable(headers)).status, 200, JSON.stringify(headers));
  });

  it("is accepted from the address that the browser uses, with and without a port", async () => {
    assert.equal(await enableAt("sync.test", "Origin: http://sync.test"), 200);
    assert.equal(await enableAt("sync.test:80", "Origin: http://sync.test"), 200);
    assert.equal(await enableAt("[::1]:8080", "Origin: http://[::1]:8080"), 200);
    assert.equal(await enableAt("sync.test:8080", "Origin: http://sync.test"), 403);
    assert.equal(await enableAt("internal", "Origin: http://sync.test", "X-Forwarded-Host: sync.test"), 200);
  });
});

it("a request that only reads is accepted from anywhere: its response stays hidden from the page", async () => {
  const headers = { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" };
  const { status, headers: received } = await call(`${service.url}/api/topicsync/v1/users`, {
    method: "GET",
    headers,
  });
  assert.equal(status, 200);
  assert.equal(received.get("access-control-allow-origin"), null);
});
