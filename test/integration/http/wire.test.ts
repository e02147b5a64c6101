/**
 * Ambiguous requests, sent as raw bytes. Expected responses follow from RFC 9112 (message syntax, framing)
 * and RFC 9110 (methods, fields): anything that is not exactly one request is rejected with 400, and the
 * connection is closed.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import { assertKeepsContract } from "../../support/contract.ts";
import { toBasicAuthorization, call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { send, type RawResponse } from "../../support/raw-http.ts";
import { useService } from "../../support/scene.ts";
import { bootstrap } from "../../support/service.ts";

const service = useService({
  HTTP_TRUSTED_PROXIES: "127.0.0.1",
  PUSH_APPLICATIONS: "App",
  PUSH_PLATFORMS: "ios",
});

const register = "/api/now/push/App/installation";
const authorization = `Authorization: ${toBasicAuthorization(bootstrap)}`;
const close = "Connection: close";
const body = '{"platform":"ios","token":"wire"}';
const length = `Content-Length: ${body.length}`;
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

const head = (first: string, ...headers: string[]): string =>
  [first, "Host: test", ...headers, "", ""].join("\r\n");
const get = (target: string, ...headers: string[]): string => head(`GET ${target} HTTP/1.1`, ...headers);
const post = (...headers: string[]): string =>
  head(`POST ${register} HTTP/1.1`, authorization, "Content-Type: application/json", ...headers);

/** The service still accepts a valid request and has logged no error. */
afterEach(async () => {
  const good = await call(`${service.url}${register}`, { body: { platform: "ios", token: unique("token") } });
  assert.equal(good.status, 200);
  assert.deepEqual(
    service.log.filter(({ level }) => level >= 50),
    [],
  );
});

/** Sends the text and returns the responses once the service has closed the connection. */
const exchangeRaw = async (text: string): Promise<readonly RawResponse[]> =>
  (await send(service.url, text)).responses;

const getStatuses = (responses: readonly RawResponse[]): number[] => responses.map(({ status }) => status);

const getCode = (response: RawResponse): string => String(JSON.parse(response.body).error.code);

/** The only response is a documented error; a request sent after it gets none. */
async function assertRejected(text: string, path = register, method = "POST"): Promise<void> {
  const responses = await exchangeRaw(text + get("/healthz"));
  assert.deepEqual(getStatuses(responses), [400], JSON.stringify(text.slice(0, 300)));
  const [response] = responses as [RawResponse];
  assert.equal(getCode(response), "BAD_REQUEST");
  const { status, headers, body: content } = response;
  const url = `${service.url}${path}`;
  assertKeepsContract({ method, url, status, headers: new Headers(headers), text: content });
}

describe("a body's length", () => {
  it("is accepted in every valid form", async () => {
    for (const request of [
      post(close, length) + body,
      post(close, `content-length:${body.length}  `) + body,
      post(close, "Transfer-Encoding: chunked") + chunked,
      post(close, "Transfer-Encoding: Chunked") + chunked,
      post(close, "Transfer-Encoding: chunked") + chunked.replace("\r\n", ";extension=1\r\n"),
      post(close, "Transfer-Encoding: chunked") + chunked.replace(/\r\n$/, "X-Trailer: 1\r\n\r\n"),
    ]) {
      assert.deepEqual(getStatuses(await exchangeRaw(request)), [200], request);
    }
  });

  it("is rejected if it is not a number (RFC 9110, section 8.6)", async () => {
    const n = body.length;
    for (const value of [
      `+${n}`,
      `-${n}`,
      "-1",
      "0x21",
      "3 3",
      `${n};`,
      "3.3e1",
      "",
      "٣٣",
      `${n},${n + 1}`,
      "9".repeat(20),
    ])
      await assertRejected(post(`Content-Length: ${value}`) + body);
  });

  it("is rejected if it is repeated or combined with chunks (RFC 9112, section 6.3)", async () => {
    await assertRejected(post(length, length) + body);
    await assertRejected(post(length, "Content-Length: 0") + body);
    await assertRejected(post(`Content-Length: ${body.length}, ${body.length}`) + body);
    await assertRejected(post(length, "Transfer-Encoding: chunked") + chunked);
    await assertRejected(post("Transfer-Encoding: chunked", "Content-Length: 4") + chunked);
  });

  it("is rejected in any coding but chunked (section 6.1)", async () => {
    for (const coding of [
      "identity",
      "gzip",
      "gzip, chunked",
      "chunked, identity",
      "chunked, chunked",
      "xchunked",
      "\x0bchunked",
      "chunked;q=1",
      '"chunked"',
      "chunked\0",
      "",
    ]) {
      await assertRejected(post(`Transfer-Encoding: ${coding}`) + chunked);
    }
    await assertRejected(post("Transfer-Encoding: chunked", "Transfer-Encoding: identity") + chunked);
    await assertRejected(post("Transfer-Encoding : chunked") + chunked);
    await assertRejected(post("X-Fold: 1", " Transfer-Encoding: chunked") + chunked);
  });

  it("is rejected as chunks in HTTP/1.0 (section 6.1)", async () => {
    await assertRejected(post("Transfer-Encoding: chunked").replace("HTTP/1.1", "HTTP/1.0") + chunked);
  });

  it("is rejected with malformed chunks (section 7.1)", async () => {
    const size = body.length.toString(16);
    for (const chunks of [
      `-${size}\r\n${body}\r\n0\r\n\r\n`,
      `0x${size}\r\n${body}\r\n0\r\n\r\n`,
      `${"f".repeat(17)}\r\n${body}`,
      `${size}\n${body}\n0\n\n`,
      `${size}\r\n${body}0\r\n\r\n`,
      `${(body.length - 1).toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      `${size};a\nb\r\n${body}\r\n0\r\n\r\n`,
      `\r\n${chunked}`,
    ]) {
      await assertRejected(post("Transfer-Encoding: chunked") + chunks);
    }
  });

  it("that is too short makes the rest of the body an invalid request", async () => {
    const short = await exchangeRaw(post(`Content-Length: ${body.length - 5}`) + body);
    assert.deepEqual(getStatuses(short), [400, 400]);
    assert.deepEqual(short.map(getCode), ["MALFORMED_JSON", "BAD_REQUEST"]);
  });
});

describe("a request in a request", () => {
  const hidden = get("/metrics", "X-Hidden: 1");

  it("is treated as the body, even if the body is not read", async () => {
    const withBody = (request: string): string =>
      request.replace(/\r\n\r\n$/, `\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`);
    for (const [request, status] of [
      [get("/healthz"), 200],
      [get("/nothing"), 404],
      [head(`POST ${register} HTTP/1.1`, "Content-Type: application/json"), 401],
      [head(`PUT ${register} HTTP/1.1`), 405],
      [post().replace("application/json", "text/plain"), 400],
      [post(), 400],
    ] as const) {
      const responses = await exchangeRaw(withBody(request) + get("/healthz", close));
      assert.deepEqual(getStatuses(responses), [status, 200], request);
    }
  });

  it("gets no response after an oversized body", async () => {
    const large = post("Content-Length: 200000") + "x".repeat(200_000) + hidden;
    assert.deepEqual(getStatuses(await exchangeRaw(large)), [413]);
  });

  it("gets no response after an upgrade request", async () => {
    const upgrade = get("/healthz", "Connection: Upgrade", "Upgrade: websocket");
    assert.deepEqual(getStatuses(await exchangeRaw(upgrade + hidden)), [200]);
  });

  it("cannot add credentials in a trailer", async () => {
    const anonymous = post(close, "Transfer-Encoding: chunked", "Trailer: Authorization").replace(
      `${authorization}\r\n`,
      "",
    );
    const trailing = chunked.replace(/\r\n$/, `${authorization}\r\n\r\n`);
    assert.deepEqual(getStatuses(await exchangeRaw(anonymous + trailing)), [401]);
  });
});

describe("pipelined requests", () => {
  it("get their responses in order, even if some fail", async () => {
    const kinds = [
      [200, get("/healthz")],
      [404, get("/nothing")],
      [200, post(length) + body],
      [400, post("Content-Length: 1") + "{"],
      [401, post(length).replace(`${authorization}\r\n`, "") + body],
      [405, head(`DELETE ${register} HTTP/1.1`)],
      [400, get("/api/now/push/%/installation").replace("GET", "POST")],
      [200, get("/openapi.json")],
      [400, post("Transfer-Encoding: chunked") + "2\r\n[]\r\n0\r\n\r\n"],
    ] as const;
    const expected = Array.from({ length: 90 }, (_, index) => {
      const [status, request] = kinds[index % kinds.length] ?? kinds[0];
      return { id: `request-${index}`, status, request };
    });
    const text = expected
      .map(({ id, request }) => request.replace("Host: test\r\n", `Host: test\r\nX-Request-Id: ${id}\r\n`))
      .join("");
    const responses = await exchangeRaw(text + get("/healthz", close, "X-Request-Id: last"));
    assert.deepEqual(
      responses.map(({ status, headers }) => ({ id: headers["x-request-id"], status })),
      [...expected.map(({ id, status }) => ({ id, status })), { id: "last", status: 200 }],
    );
  });
});

describe("a line or a header", () => {
  const good = get("/healthz", "X-One: 1", "X-Two: 2");

  it("is rejected with characters that some parsers treat as its end (RFC 9112, section 2.2; RFC 9110, section 5.5)", async () => {
    for (const text of [
      good.replaceAll("\r\n", "\n"),
      good.replace("X-One: 1\r\n", "X-One: 1\n"),
      good.replace("X-One: 1\r\n", "X-One: 1\r"),
      good.replace("X-One: 1", "X-One: a\0b"),
      good.replace("X-One: 1\r\n", "X-One: 1\r\n folded\r\n"),
      good.replace("\r\nHost", "\r\n Host"),
      good.replace("X-One:", "X-One :"),
      good.replace("X-One:", "X One:"),
      good.replace("X-One:", ":"),
      good.replace("X-One:", "X-\xd6ne:"),
      good.replace("/healthz", "/health\0z"),
      good.replace("/healthz", "/healthz /metrics"),
      good.replace("/healthz", "/healthz\xe9"),
      good.replace("/healthz", "/healthz\t"),
    ]) {
      await assertRejected(text, "/healthz", "GET");
    }
  });

  it("has no effect under a name with a special meaning elsewhere", async () => {
    const names = [
      "__proto__: 1",
      "constructor: 1",
      "toString: 1",
      "X-HTTP-Method-Override: DELETE",
      "X-Original-URL: /metrics",
    ];
    const responses = await exchangeRaw(get("/healthz", ...names, close));
    assert.deepEqual(
      responses.map((response) => response.body),
      ['{"status":"alive"}'],
    );
  });

  it("is not used as a request id if it could forge log entries", async () => {
    for (const ids of [
      ["a\tb"],
      ["a", "b"],
      ["../../etc"],
      ["x".repeat(65)],
      ["<script>"],
      ['","level":60'],
    ]) {
      const [response] = await exchangeRaw(get("/healthz", ...ids.map((id) => `X-Request-Id: ${id}`), close));
      assert.match(response?.headers["x-request-id"] ?? "", /^[\da-f]{8}-[\da-f-]{27}$/);
    }
  });
});

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
    for (const method of [
      "TRACE",
      "OPTIONS",
      "PUT",
      "PATCH",
      "DELETE",
      "PROPFIND",
      "PURGE",
      "LINK",
      "QUERY",
    ]) {
      const [response] = await exchangeRaw(head(`${method} /healthz HTTP/1.1`, close, "X-Secret: secret"));
      assert.equal(response?.status, 405, method);
      assert.equal(response.headers["allow"], "GET, HEAD");
      assert.doesNotMatch(response.body, /secret/);
    }
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
