/** Bodies that are not exactly one JSON text (RFC 8259), and compressed ones. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

import { assertError, call } from "../../support/http.ts";
import { service } from "../../support/shared-service.ts";
import {
  assertIntact,
  register,
  remove,
  topic,
  pick,
  send,
  sendBytes,
  getFaultPaths,
} from "./malicious-requests.ts";

describe("ambiguous or malformed JSON", () => {
  it("is rejected with a duplicate member, at any depth and in any spelling", async () => {
    for (const body of [
      '{"platform":"ios","token":"a","token":"b"}',
      '{"platform":"ios","token":"a","\\u0074oken":"b"}',
      '{"__proto__":1,"__proto__":2}',
      '{"platform":"ios","token":{"a":[{"b":1,"b":1}]}}',
    ]) {
      assertError(await send(register, body), 400, "MALFORMED_JSON");
    }
    // Events belong to others: the router accepts them, too.
    assert.equal((await send(pick, '{"event":{"a":1,"a":2}}')).status, 200);
  });

  it("is rejected if it is nested 10,000 levels deep, closed or not", async () => {
    for (const body of [
      "[".repeat(10_000) + "]".repeat(10_000),
      '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000),
      `{"event":${'[{"a":'.repeat(5_000)}1${"}]".repeat(5_000)}}`,
      "[".repeat(100_000),
      '{"event":'.repeat(10_000),
    ]) {
      for (const path of [register, remove, topic])
        assertError(await send(path, body), 400, "MALFORMED_JSON");
      assert.equal((await send(pick, body)).status, 400);
    }
  });

  it("is accepted up to 100 levels and rejected beyond", async () => {
    const nested = (levels: number) => '{"event":'.repeat(levels - 1) + "{}" + "}".repeat(levels - 1);
    assertError(await send(register, nested(100)), 400, "SCHEMA_VIOLATION");
    assertError(await send(register, nested(101)), 400, "MALFORMED_JSON");
    assert.equal((await send(pick, nested(101))).status, 200);
  });

  it("is rejected if it is not strict JSON", async () => {
    for (const body of [
      "NaN",
      "{'platform':'ios'}",
      '{"platform":"ios",}',
      '{"platform":"ios"} {"platform":"ios"}',
      '{"platform":"ios"}//',
      '{"platform":/**/"ios"}',
      '{"platform":"io\ns"}',
      '{"platform":"\\x69os"}',
      '{"platform":01}',
      "platform=ios&token=t",
      ")]}',\n{}",
    ]) {
      assertError(await send(remove, body), 400, "MALFORMED_JSON");
    }
  });

  it("returns at most 51 of thousands of faults", async () => {
    const members = Array.from({ length: 5_000 }, (_, index) => [`m${index}`, index]);
    const response = await send(register, Object.fromEntries(members));
    assertError(response, 400, "SCHEMA_VIOLATION");
    assert.ok(getFaultPaths(response).length <= 51);
  });
});

describe("a compressed body", () => {
  const body = Buffer.from('{"platform":"ios","token":"compressed"}');
  const codings = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

  for (const [name, compress] of Object.entries(codings)) {
    const encoding = { "Content-Encoding": name };
    it(`is decompressed, and rejected if it exceeds 100 KiB or is corrupt: ${name}`, async () => {
      assert.equal((await sendBytes(register, compress(body), encoding)).status, 200);
      const bomb = compress(Buffer.alloc(5_000_000, " "));
      assert.ok(bomb.length < 100 * 1024);
      assertError(await sendBytes(register, bomb, encoding), 413, "BODY_TOO_LARGE");
      assertError(await sendBytes(register, body, encoding), 400, "BAD_REQUEST");
      assertError(await sendBytes(register, compress(body).subarray(0, 10), encoding), 400, "BAD_REQUEST");
    });
  }

  it("is rejected with an unknown encoding or several", async () => {
    for (const coding of ["zstd", "compress", "gzip, gzip", "gzip, identity", "x"]) {
      const response = await sendBytes(register, gzipSync(body), { "Content-Encoding": coding });
      assertError(response, 400, "UNSUPPORTED_MEDIA_TYPE");
      const other = await sendBytes(topic, gzipSync(body), { "Content-Encoding": coding });
      assertError(other, 415, "UNSUPPORTED_MEDIA_TYPE");
    }
  });
});

it("credentials for signing in have at most 4 KiB, since strangers send them", async () => {
  const url = `${service.url}/api/topicsync/v1/session`;
  for (const [length, status] of [
    [3_000, 400],
    [5_000, 413],
  ] as const) {
    const body = { user: "stranger", password: "x".repeat(length) };
    assert.equal((await call(url, { as: undefined, body })).status, status);
  }
});

it("the service survives all of it", () => assertIntact(service.log));
