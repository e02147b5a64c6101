/**
 * Ambiguous requests, sent as raw bytes. Expected responses follow from RFC 9112 (message syntax, framing)
 * and RFC 9110 (methods, fields): anything that is not exactly one request is rejected with 400, and the
 * connection is closed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { service } from "../../support/shared-service.ts";
import {
  authorization,
  body,
  chunked,
  close,
  get,
  getCode,
  getStatuses,
  head,
  length,
  post,
  register,
  useWire,
} from "../../support/wire.ts";

const { assertIntact, exchangeRaw, assertRejected } = useWire(service);

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

it("the service survives all of it", assertIntact);
