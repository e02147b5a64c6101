import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { after, describe, it } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";

import express from "express";

import { createLogger } from "@topicsync/lib/logger";
import { createBodyBudget, readBody } from "../../../../http/framework/body.ts";
import { createRequestContext } from "../../../../http/framework/context.ts";
import { createErrorHandler } from "../../../../http/framework/error-response.ts";
import { listen } from "../../../../http/framework/server.ts";
import { until } from "../../../support/poll.ts";
import { send } from "../../../support/raw-http.ts";

/** How many bytes of bodies are read at the same time. */
const maxBytes = 200_000;

const log = await createLogger("silent");
const app = express();
app.use(createRequestContext(undefined));
app.post(
  "/",
  ...readBody(
    { schema: {}, check: (value) => ({ ok: true, value }), wrongTypeStatus: 415 },
    createBodyBudget(maxBytes),
  ),
  (request, response) => {
    response.json({ body: request.body });
  },
);
app.use(createErrorHandler(log, () => undefined));
const server = await listen(app, { host: "127.0.0.1", port: 0, maxConnections: 10, tls: undefined, log });
after(() => server.close());

/** Sends a body and returns the status with the code of the error, or with the body as it was read. */
async function post(contentType: string, body: string, framing?: string): Promise<unknown[]> {
  const length = framing ?? `Content-Length: ${Buffer.byteLength(body)}`;
  const head = `POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Type: ${contentType}\r\n${length}`;
  const { responses } = await send(server.url, `${head}\r\n\r\n${body}`);
  return responses.flatMap(({ status, body: text }) => {
    const response = JSON.parse(text) as { body?: unknown; error?: { code: string } };
    return [status, response.error?.code ?? response.body];
  });
}

describe("a JSON body", () => {
  it("is not an empty object when it is empty", async () => {
    assert.deepEqual(await post("application/json", ""), [200, null]);
    assert.deepEqual(await post("application/json", "0\r\n\r\n", "Transfer-Encoding: chunked"), [200, null]);
  });

  for (const charset of ["utf-8", "utf8", '"UTF8"', '"utf-8"']) {
    it(`may have the charset ${charset}`, async () => {
      assert.deepEqual(await post(`application/json; charset=${charset}`, "{}"), [200, {}]);
    });
  }

  for (const type of [
    'application/json; x="; charset=utf-8"; charset=utf-7',
    "application/json; charset=utf-8; charset=utf-7",
  ]) {
    it(`is read as UTF-8 even if its type is ${type}`, async () => {
      // Hides a duplicate member from every check that does not know UTF-7.
      assert.deepEqual(await post(type, "+AHsAIg-a+ACIAOg-1,+ACI-a+ACIAOg-2+AH0-"), [400, "MALFORMED_JSON"]);
      assert.deepEqual(await post(type, '{"a":"+AHs-"}'), [200, { a: "+AHs-" }]);
    });
  }

  it("may name its coding in any case, and gzip as x-gzip", async () => {
    const codings: [string, (text: string) => Buffer][] = [
      ["Identity", (text) => Buffer.from(text)],
      ["GZIP", gzipSync],
      ["X-Gzip", gzipSync],
      ["Br", brotliCompressSync],
    ];
    for (const [coding, encode] of codings) {
      const response = await fetch(server.url, {
        method: "POST",
        headers: { "Content-Type": "application/json", "Content-Encoding": coding },
        body: new Uint8Array(encode('{"a":1}')),
      });
      assert.deepEqual([coding, await response.json()], [coding, { body: { a: 1 } }]);
    }
  });

  it("is rejected while too many bytes of other bodies are being read", async () => {
    const size = 100_000;
    const begin = () => {
      const headers = { "Content-Type": "application/json", "Content-Length": size };
      const begun = request(server.url, { method: "POST", headers, agent: false });
      begun.on("error", () => undefined).write(`"${"x".repeat(size - 2)}`);
      return begun;
    };
    const slow = [begin(), begin()];
    const small = (): Promise<Response> =>
      fetch(server.url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: `"${"x".repeat(1_000)}"`,
      });
    const rejected = await until("the slow bodies have arrived", async () => {
      const response = await small();
      return response.status === 503 && response;
    });
    assert.equal(rejected.headers.get("retry-after"), "1");
    assert.equal(((await rejected.json()) as { error: { code: string } }).error.code, "OVERLOADED");
    slow[0]?.destroy();
    await until("the first has given its bytes back", async () => (await small()).status === 200);
    slow[1]?.end('"');
    const [response] = (await once(slow[1] ?? begin(), "response")) as [IncomingMessage];
    assert.equal(response.statusCode, 200, "what was being read is read to its end");
    response.resume();
  });

  it("may begin with a byte order mark", async () => {
    assert.deepEqual(await post("application/json", "\uFEFF{}"), [200, {}]);
  });
});
