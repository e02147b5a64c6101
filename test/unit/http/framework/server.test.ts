import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, describe, it } from "node:test";

import express from "express";

import { createLogger } from "@topicsync/lib/logger";
import { createBodyBudget, readBody } from "../../../../http/framework/body.ts";
import { createRequestContext } from "../../../../http/framework/context.ts";
import { createErrorHandler } from "../../../../http/framework/error-response.ts";
import {
  connectionLimits,
  listen,
  type HttpServer,
  type ListenOptions,
} from "../../../../http/framework/server.ts";
import { exchange, send, type RawResponse } from "../../../support/raw-http.ts";

const log = await createLogger("silent");
const servers: HttpServer[] = [];
after(() => Promise.all(servers.map((server) => server.close())));

/** Starts a server that reads a JSON body. */
async function start(options: Pick<ListenOptions, "limits"> & { maxConnections?: number }): Promise<string> {
  const app = express();
  app.use(createRequestContext(undefined));
  app.post(
    "/",
    ...readBody(
      { schema: {}, check: (value) => ({ ok: true, value }), wrongTypeStatus: 415 },
      createBodyBudget(),
    ),
    (_request, response) => {
      response.json("read");
    },
  );
  app.use(createErrorHandler(log, () => undefined));
  const server = await listen(app, {
    host: "127.0.0.1",
    port: 0,
    maxConnections: 100,
    tls: undefined,
    log,
    ...options,
  });
  servers.push(server);
  return server.url;
}

const impatient = { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 };
const whole =
  "POST / HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

function assertTimeout(responses: readonly RawResponse[]): void {
  assert.deepEqual(
    responses.map(({ status, body }) => [status, String(JSON.parse(body).error.code)]),
    [[408, "REQUEST_TIMEOUT"]],
  );
}

describe("a slow request", () => {
  it("returns 408 when its headers are incomplete", async () => {
    assertTimeout((await send(await start({ limits: impatient }), "POST / HTTP/1.1\r\nHost:")).responses);
  });

  it("returns 408 when its body is incomplete", async () => {
    const url = await start({ limits: impatient });
    assertTimeout((await send(url, whole.replace("Length: 2", "Length: 3"))).responses);
  });

  it("returns 408 when nothing is sent", async () => {
    assertTimeout((await send(await start({ limits: impatient }))).responses);
  });

  it("closes the connection when bytes arrive one at a time forever", async () => {
    const url = await start({ limits: impatient });
    const { responses } = await exchange(url, (socket) => {
      socket.write("POST / HTTP/1.1\r\nHost: test\r\nX-Slow: ");
      const drip = setInterval(() => socket.write("x"), 20);
      socket.on("close", () => {
        clearInterval(drip);
      });
    });
    assertTimeout(responses);
  });
});

describe("a connection", () => {
  it("is closed immediately beyond the maximum number", async () => {
    const url = await start({ maxConnections: 2, limits: {} });
    const port = Number(new URL(url).port);
    const [one, two] = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
    await Promise.all([once(one, "connect"), once(two, "connect")]);
    assert.deepEqual((await send(url, whole)).responses, []);
    one.destroy();
    two.destroy();
    for (;;) {
      const { responses } = await send(url, whole.replace("Host", "Connection: close\r\nHost"));
      if (responses.length > 0) break;
    }
  });

  it("has the limits of docs/security.md", () => {
    assert.deepEqual(connectionLimits, {
      maxHeaderSize: 16_384,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      handshakeTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 60_000,
      idleTimeout: 120_000,
      requestsPerConnection: 10_000,
    });
  });

  it("is closed when idle, both after a response and during a request", async () => {
    // The idle timeout also counts the time in which a busy machine does not come to read the request.
    const done = await send(await start({ limits: { keepAliveTimeout: 50 } }), whole);
    assert.equal(done.responses.length, 1);
    const begun = await send(await start({ limits: { idleTimeout: 50 } }), whole.slice(0, -1));
    assert.deepEqual(begun.responses, []);
  });

  it("is closed after the maximum number of requests", async () => {
    const url = await start({ limits: { requestsPerConnection: 3 } });
    const { responses } = await send(url, whole.repeat(5));
    assert.deepEqual(
      responses.map(({ status, headers }) => [status, headers["connection"]]),
      [
        [200, "keep-alive"],
        [200, "keep-alive"],
        [200, "close"],
      ],
    );
  });
});
