import assert from "node:assert/strict";
import { after, it, mock } from "node:test";

import express from "express";
import { pino } from "pino";

import { serializeError } from "@topicsync/lib/logger";
import { createRequestContext } from "../../../../http/framework/context.ts";
import { createErrorHandler } from "../../../../http/framework/error-response.ts";
import { setResponseHeaders } from "../../../../http/framework/headers.ts";
import { listen } from "../../../../http/framework/server.ts";
import { send } from "../../../support/raw-http.ts";

const lines: string[] = [];
const log = pino(
  { level: "error", serializers: { err: serializeError } },
  { write: (line: string) => void lines.push(line) },
);
const app = express();
app.use(createRequestContext(undefined), setResponseHeaders({ overTls: false }));
app.get("/half", (_request, response, next) => {
  response.writeHead(200, { "Content-Length": 10 }).write("half", () => {
    next(new Error('duplicate key { token: "a push token" }'));
  });
});
app.use(createErrorHandler(log, () => undefined));
const server = await listen(app, { host: "127.0.0.1", port: 0, maxConnections: 10, tls: undefined, log });
after(() => server.close());

it("logs an error after the headers are sent like any other, and closes the connection", async () => {
  const print = mock.method(console, "error", () => undefined);
  const { responses } = await send(server.url, "GET /half HTTP/1.1\r\nHost: test\r\n\r\n");
  print.mock.restore();
  assert.deepEqual([responses[0]?.status, responses[0]?.body], [200, "half"]);
  assert.equal(print.mock.callCount(), 0);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /"msg":"response failed"/);
  assert.doesNotMatch(lines[0] ?? "", /a push token/);
});

it("sends the security headers also with the response to a malformed request", async () => {
  const [request, other] = await Promise.all([
    send(server.url, "GET /none HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"),
    send(server.url, "FOO\r\n\r\n"),
  ]);
  const names = [
    "content-security-policy",
    "cross-origin-resource-policy",
    "referrer-policy",
    "x-content-type-options",
    "x-frame-options",
  ];
  for (const name of names) {
    assert.ok(other.responses[0]?.headers[name], name);
    if (name !== "content-security-policy")
      assert.equal(other.responses[0].headers[name], request.responses[0]?.headers[name], name);
  }
});
