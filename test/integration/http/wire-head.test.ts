/** Hosts, targets, methods and versions of requests, sent as raw bytes (RFC 9112, RFC 9110). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { service } from "../../support/shared-service.ts";
import { body, close, get, getStatuses, head, length, post, useWire } from "../../support/wire.ts";

const { assertIntact, exchangeRaw, assertRejected } = useWire(service);

describe("a host", () => {
  const from = (...hosts: string[]): string =>
    ["GET /healthz HTTP/1.1", ...hosts.map((host) => `Host:${host}`), "", ""].join("\r\n");

  it("may be any host, with or without a port, or empty", async () => {
    for (const host of [
      " test",
      " test:80",
      " 127.0.0.1:8080",
      " [::1]",
      " [::1]:80",
      " t%C3%A4st",
      " ",
      "",
    ]) {
      const responses = await exchangeRaw(from(host).replace("\r\n\r\n", `\r\n${close}\r\n\r\n`));
      assert.deepEqual(getStatuses(responses), [200], host);
    }
  });

  it("is rejected if it is missing, repeated or invalid (RFC 9112, section 3.2)", async () => {
    for (const hosts of [
      [],
      ["a", "a"],
      ["a", "b"],
      ["a b"],
      ["a/b"],
      ["user@a"],
      ["a:port"],
      ["<a>"],
      ["[::1"],
      ["a\\b"],
      ["http://a"],
    ])
      await assertRejected(from(...hosts), "/healthz", "GET");
  });
});

describe("a target", () => {
  it("may be an absolute URL, of which only path and query are used (RFC 9112, section 3.2.2)", async () => {
    for (const [target, status] of [
      ["http://test/healthz", 200],
      ["https://elsewhere.example:8443/healthz?x=1", 200],
      ["HTTP://TEST/healthz", 200],
      ["http://test/nothing?/healthz", 404],
      ["http://test//healthz", 404],
      ["http://user:password@test/healthz", 404],
      ["http://[::1/healthz", 404],
      ["http:///healthz", 404],
      ["ftp://test/healthz", 404],
    ] as const) {
      const [response] = await exchangeRaw(get(target, close));
      assert.equal(response?.status, status, target);
      assert.match(response.headers["content-type"] ?? "", /^application\/json/, target);
    }
  });

  it("may be an absolute URL without a path, which means the root (section 3.2.1)", async () => {
    for (const target of ["http://test", "http://test?/healthz"]) {
      const [response] = await exchangeRaw(get(target, close));
      assert.deepEqual([response?.status, response?.headers["location"]], [302, "/console"], target);
    }
  });

  it("is used literally: dot segments and encoded slashes are not resolved", async () => {
    for (const target of [
      "/docs/../openapi.json",
      "/docs/%2e%2e/openapi.json",
      "/./healthz",
      "//healthz",
      "/healthz%2F",
      "/%68ealthz/x",
      "/healthz;x=1",
      "/healthz%00",
      "/api/now/push/../../../healthz",
    ]) {
      assert.deepEqual(getStatuses(await exchangeRaw(get(target, close))), [404], target);
    }
    assert.deepEqual(getStatuses(await exchangeRaw(get("/healthz?/../metrics#x", close))), [200]);
    const dots = (post(close, length) + body).replace("/App/", "/../");
    const [response] = await exchangeRaw(dots);
    assert.equal(
      JSON.parse(response?.body ?? "").error.code,
      "UNKNOWN_APPLICATION",
      "no application has that name",
    );
  });

  it("is rejected in any other form (section 3.2)", async () => {
    for (const target of ["healthz", "test:80", "?x", "#x", "\\healthz"])
      await assertRejected(get(target), "/healthz", "GET");
  });
});

describe("a method", () => {
  it("is rejected if the path does not support it", async () => {
    for (const method of ["TRACE", "PUT", "PATCH", "DELETE", "PROPFIND", "PURGE", "LINK", "QUERY"]) {
      const [response] = await exchangeRaw(head(`${method} /healthz HTTP/1.1`, close, "X-Secret: secret"));
      assert.equal(response?.status, 405, method);
      assert.equal(response.headers["allow"], "GET, HEAD");
      assert.doesNotMatch(response.body, /secret/);
    }
  });

  it("may be OPTIONS at a health path, with the state as the answer: load balancers check so", async () => {
    for (const [path, state] of [
      ["/healthz", /"alive"/],
      ["/readyz", /"(?:not )?ready"/],
    ] as const) {
      const [response] = await exchangeRaw(head(`OPTIONS ${path} HTTP/1.1`, close));
      assert.ok(response !== undefined && [200, 503].includes(response.status));
      assert.match(response.body, state);
    }
    const [other] = await exchangeRaw(head("OPTIONS /openapi.json HTTP/1.1", close));
    assert.equal(other?.status, 405);
  });

  it("is rejected if it is unknown or CONNECT", async () => {
    for (const method of ["get", "GETS", "G\xcbT", "", "POST\t", "M-SEARCH2"])
      await assertRejected(head(`${method} /healthz HTTP/1.1`), "/healthz", "GET");
    await assertRejected(head("CONNECT elsewhere.example:443 HTTP/1.1"), "/healthz", "GET");
  });

  it("HEAD returns what GET does, without the body", async () => {
    const [response] = await exchangeRaw(head("HEAD /healthz HTTP/1.1", close));
    assert.deepEqual([response?.status, response?.body], [200, ""]);
  });
});

describe("a version of HTTP", () => {
  it("1.0 is supported, with or without a host, and the connection is closed", async () => {
    assert.deepEqual(getStatuses(await exchangeRaw("GET /healthz HTTP/1.0\r\n\r\n")), [200]);
    assert.deepEqual(
      getStatuses(await exchangeRaw(get("/healthz").replace("1.1", "1.0") + get("/healthz"))),
      [200],
    );
    const kept = get("/healthz", "Connection: keep-alive").replace("1.1", "1.0");
    assert.deepEqual(getStatuses(await exchangeRaw(kept + get("/nothing", close))), [200, 404]);
  });

  it("is rejected if it is unsupported or not HTTP", async () => {
    for (const version of [
      "HTTP/0.9",
      "HTTP/1.2",
      "HTTP/2.0",
      "HTTP/3",
      "HTTP/1.1.1",
      "HTTQ/1.1",
      "http/1.1",
      "",
    ])
      await assertRejected(get("/healthz").replace("HTTP/1.1", version), "/healthz", "GET");
    await assertRejected("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "/healthz", "GET");
    await assertRejected("GET /healthz\r\n\r\n", "/healthz", "GET");
  });
});

it("the service survives all of it", assertIntact);
