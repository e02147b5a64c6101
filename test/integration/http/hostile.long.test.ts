import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { toBasicAuthorization, call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { send, type Exchange, type RawResponse } from "../../support/raw-http.ts";
import { service } from "../../support/shared-service.ts";
import { bootstrap } from "../../support/service.ts";

const authorization = `Authorization: ${toBasicAuthorization(bootstrap)}`;
const path = "/api/now/push/App/installation";
const head = (first: string, ...headers: string[]): string =>
  [first, "Host: test", ...headers, "", ""].join("\r\n");
const post = (...headers: string[]): string =>
  head(`POST ${path} HTTP/1.1`, "Content-Type: application/json", ...headers);
const registration = (): string => JSON.stringify({ platform: "ios", token: unique("token") });
const close = "Connection: close";
const endless = `10000\r\n${"x".repeat(0x10000)}\r\n`.repeat(40);

/** The last response is an error with the standard body, and the connection is closed after it. */
function assertLast({ responses, end }: Exchange, status: number, code: string): RawResponse {
  const response = responses.at(-1);
  assert.ok(response !== undefined, `no response: ${end}`);
  assert.equal(response.status, status, response.body);
  const body = JSON.parse(response.body);
  assert.deepEqual(Object.keys(body), ["error", "status"]);
  assert.deepEqual(Object.keys(body.error).toSorted(), ["code", "detail", "details", "message"]);
  assert.equal(body.error.code, code);
  assert.match(response.headers["content-type"] ?? "", /^application\/json/);
  assert.equal(response.headers["x-content-type-options"], "nosniff");
  return response;
}

describe("every response", () => {
  it("has the security headers of an API and does not name the server software", async () => {
    for (const options of [
      { method: "GET", path: "/healthz" },
      { method: "GET", path: "/nothing" },
      { method: "GET", path: "/api/topicsync/v1/sync", as: undefined },
      { method: "POST", path, body: JSON.parse(registration()) },
    ]) {
      const { headers } = await call(`${service.url}${options.path}`, options);
      assert.equal(headers.get("content-security-policy"), "default-src 'none';frame-ancestors 'none'");
      assert.equal(headers.get("cross-origin-resource-policy"), "same-origin");
      assert.equal(headers.get("referrer-policy"), "no-referrer");
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("x-frame-options"), "DENY");
      assert.equal(headers.get("cache-control"), "no-store");
      assert.equal(headers.get("x-powered-by"), null);
      assert.equal(headers.get("server"), null);
      assert.equal(headers.get("strict-transport-security"), null, "only over TLS");
    }
  });
});

describe("invalid HTTP", () => {
  for (const [what, text] of [
    ["no HTTP at all", "\x16\x03\x01 hello\r\n\r\n"],
    ["a header without a colon", "GET / HTTP/1.1\r\nHost\r\n\r\n"],
    ["an unknown method", head("STEAL / HTTP/1.1")],
    ["two lengths", post("Content-Length: 3", "Content-Length: 4")],
    ["a length and chunks", post("Content-Length: 3", "Transfer-Encoding: chunked")],
    ["a body in broken chunks", `${post("Transfer-Encoding: chunked", authorization)}zz\r\n`],
    ["no Host header", `GET /healthz HTTP/1.1\r\n${close}\r\n\r\n`],
  ] as const) {
    it(`returns 400 with the standard error body: ${what}`, async () => {
      assertLast(await send(service.url, text), 400, "BAD_REQUEST");
    });
  }

  it("gets its response after those to earlier requests on the same connection", async () => {
    const one = head("GET /healthz HTTP/1.1");
    const body = registration();
    const two = post(authorization, `Content-Length: ${body.length}`) + body;
    const three = head("GET /nothing HTTP/1.1");
    const all = await send(service.url, one + two + three + "nonsense\r\n\r\n");
    assertLast(all, 400, "BAD_REQUEST");
    assert.deepEqual(
      all.responses.map(({ status }) => status),
      [200, 200, 404, 400],
    );
  });
});

describe("an oversized request", () => {
  it("returns 431: headers of more than 16 kB", async () => {
    const bomb = `GET /healthz HTTP/1.1\r\nHost: test\r\n${`X-Bomb: ${"x".repeat(1_000)}\r\n`.repeat(2_000)}`;
    assertLast(await send(service.url, bomb), 431, "HEADERS_TOO_LARGE");
  });

  it("returns 431: more than 100 headers", async () => {
    const headers = Array.from({ length: 150 }, (_, index) => `X-${index}: 1`);
    const bomb = head("GET /healthz HTTP/1.1", close, ...headers);
    assertLast(await send(service.url, bomb), 431, "HEADERS_TOO_LARGE");
    const few = head("GET /healthz HTTP/1.1", close, ...headers.slice(0, 98));
    assert.equal((await send(service.url, few)).responses[0]?.status, 200);
  });

  it("returns 414: a URL of more than 2,048 characters", async () => {
    const response = await send(service.url, head(`GET /${"x".repeat(2_048)} HTTP/1.1`, close));
    assertLast(response, 414, "URI_TOO_LONG");
  });
});

describe("a Content-Type of thousands of spaces", () => {
  const spaces = " ".repeat(15_700);
  const signIn = (type: string): string =>
    head(
      "POST /api/topicsync/v1/session HTTP/1.1",
      `Content-Type: application/json${type}`,
      "Content-Length: 2",
    ) + "{}";

  it("is rejected for its length, without an account, thirty times on one connection", async () => {
    const { responses } = await send(
      service.url,
      signIn(`${spaces}x`).repeat(30) + head("GET /healthz HTTP/1.1", close),
    );
    assert.deepEqual(
      responses.map(({ status }) => status),
      [...Array.from({ length: 30 }, () => 415), 200],
    );
    for (const { body } of responses.slice(0, -1))
      assert.equal(JSON.parse(body).error.message, "The Content-Type exceeds 256 characters.");
  });

  it("is rejected with 400 by the push operations", async () => {
    const request = post(authorization, close, "Content-Length: 2").replace("json", `json;${spaces}x`);
    assertLast(await send(service.url, request, "{}"), 400, "UNSUPPORTED_MEDIA_TYPE");
  });

  it("is rejected from 257 characters on", async () => {
    const statuses = [];
    for (const length of [256, 257]) {
      const type = ";charset=utf-8".padStart(length - "application/json".length);
      const { responses } = await send(service.url, signIn(type) + head("GET /healthz HTTP/1.1", close));
      statuses.push(responses[0]?.status);
    }
    assert.deepEqual(statuses, [400, 415], "the first one lacks the members of a login");
  });
});

describe("a body with Expect: 100-continue", () => {
  it("is requested after credentials and headers are checked", async () => {
    const body = registration();
    const good = post(authorization, "Expect: 100-continue", `Content-Length: ${body.length}`, close);
    const { responses } = await send(service.url, good, body);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [100, 200],
    );
  });

  it("is not requested otherwise, and the connection is closed", async () => {
    for (const [headers, status, code] of [
      [[], 401, "UNAUTHENTICATED"],
      [[authorization, "Accept: text/html"], 406, "NOT_ACCEPTABLE"],
      [[authorization, "Content-Encoding: rot13"], 400, "UNSUPPORTED_MEDIA_TYPE"],
      [[authorization, "X-Other: 1"], 413, "BODY_TOO_LARGE"],
    ] as const) {
      const url = status === 406 ? "/api/svc_api_notif_mgmt/topic" : path;
      const length = status === 413 ? 200_000 : 50;
      const request = post(...headers, "Expect: 100-continue", `Content-Length: ${length}`).replace(
        path,
        url,
      );
      const got = await send(service.url, request);
      const response = assertLast(got, status, code);
      assert.equal(got.responses.length, 1, "no 100");
      assert.equal(response.headers["connection"], "close");
    }
  });

  it("is rejected with 417 for any other expectation", async () => {
    const request = head("GET /healthz HTTP/1.1", "Expect: a-miracle", close);
    assertLast(await send(service.url, request), 417, "EXPECTATION_FAILED");
  });

  it("is read without 100 Continue in HTTP/1.0", async () => {
    const body = registration();
    const request = post(authorization, "Expect: 100-continue", `Content-Length: ${body.length}`);
    const { responses } = await send(service.url, request.replace("HTTP/1.1", "HTTP/1.0"), body);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200],
    );
  });
});

describe("an unread body", () => {
  it("is not read to its end: the response is sent and the connection closed", async () => {
    for (const [request, status, code] of [
      [post("Transfer-Encoding: chunked"), 401, "UNAUTHENTICATED"],
      [post("Content-Length: 10000000"), 401, "UNAUTHENTICATED"],
      [post(authorization, "Transfer-Encoding: chunked").replace(path, "/nothing"), 404, "NOT_FOUND"],
      [post(authorization, "Transfer-Encoding: chunked"), 413, "BODY_TOO_LARGE"],
      [post(authorization, "Content-Length: 10000000"), 413, "BODY_TOO_LARGE"],
      [
        post(authorization, "Transfer-Encoding: chunked").replace("application/json", "text/plain"),
        400,
        "UNSUPPORTED_MEDIA_TYPE",
      ],
    ] as const) {
      const response = assertLast(await send(service.url, request, endless), status, code);
      assert.equal(response.headers["connection"], "close", code);
    }
    const got = await send(service.url, head("GET /healthz HTTP/1.1", "Transfer-Encoding: chunked"), endless);
    assert.equal(got.responses[0]?.status, 200);
    assert.equal(got.responses[0].headers["connection"], "close");
  });

  it("is discarded if it is small, and the connection stays open", async () => {
    const rejected = post("Content-Length: 50") + "x".repeat(50);
    const { responses } = await send(service.url, rejected + head("GET /healthz HTTP/1.1", close));
    assert.deepEqual(
      responses.map(({ status }) => status),
      [401, 200],
    );
  });
});

describe("a hostile path", () => {
  const register = (application: string): Promise<Exchange> =>
    send(service.url, post(authorization, close, "Content-Length: 2").replace("App", application), "{}");

  for (const application of [
    "a%2Fb",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%00",
    "App%00",
    "__proto__",
    "constructor",
    "%24ne",
    "%7B%22%24ne%22%3A1%7D",
    "app",
    "%F0%9F%98%80",
  ]) {
    it(`matches no application: ${application}`, async () => {
      const response = await call(`${service.url}/api/now/push/${application}/installation`, {
        body: { platform: "ios", token: "token" },
      });
      // `fetch` resolves %2e%2e as a dot segment.
      const expected = application === "%2e%2e" ? [404, "NOT_FOUND"] : [400, "UNKNOWN_APPLICATION"];
      assert.deepEqual([response.status, response.json.error.code], expected);
    });
  }

  for (const application of ["%", "%E0%A4%A", "%FF", "%C0%AF", "%ED%A0%80"]) {
    it(`is rejected as invalid UTF-8: ${application}`, async () => {
      assertLast(await register(application), 400, "BAD_REQUEST");
    });
  }

  it("is used literally", async () => {
    for (const request of ["GET //healthz", "GET /healthz/../metrics", "GET /HEALTHZ", "OPTIONS *"]) {
      assertLast(await send(service.url, head(`${request} HTTP/1.1`, close)), 404, "NOT_FOUND");
    }
  });
});

it("the service remains ready and logs neither failures nor queries", async () => {
  await call(`${service.url}/nothing?token=${"q".repeat(20)}`, { method: "GET" });
  const { status } = await call(`${service.url}/readyz`, { method: "GET", as: undefined });
  assert.equal(status, 200);
  assert.deepEqual(
    service.log.filter(({ level, requestId }) => level >= 50 && requestId !== undefined),
    [],
  );
  assert.doesNotMatch(JSON.stringify(service.log), /qqqq/);
});
