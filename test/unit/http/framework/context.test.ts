import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type RequestOptions } from "node:https";
import type { IncomingMessage } from "node:http";
import { after, it } from "node:test";

import express from "express";

import { createLogger } from "@topicsync/lib/logger";
import { createRequestContext } from "../../../../http/framework/context.ts";
import { listen } from "../../../../http/framework/server.ts";
import { createCertificate } from "../../../support/certificate.ts";

import { send } from "../../../support/raw-http.ts";

const log = await createLogger("silent");
const pair = await createCertificate();
const app = express();
app.set("trust proxy", ["127.0.0.1"]);
app.use(createRequestContext(undefined), (_request, response) => {
  response.json(response.locals["secure"]);
});
const server = await listen(app, { host: "127.0.0.1", port: 0, maxConnections: 10, tls: pair, log });
after(() => server.close());

const plain = express();
plain.set("trust proxy", ["127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48"]);
plain.use(createRequestContext(undefined), (_request, response) => {
  response.json(response.locals["address"]);
});
const plainServer = await listen(plain, {
  host: "127.0.0.1",
  port: 0,
  maxConnections: 10,
  tls: undefined,
  log,
});
after(() => plainServer.close());

for (const [forwarded, address] of [
  ["203.0.113.7:51234", "203.0.113.7"],
  ["[2001:db8::7]:443", "2001:db8::7"],
  ["[2001:db8::7]", "2001:db8::7"],
  ["2001:db8::7", "2001:db8::7"],
  ["192.0.2.9, 203.0.113.7:1, 10.0.0.5:443, [2001:db8:1::1]:8080", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["unknown", "127.0.0.1"],
  ["_hidden, 10.0.0.5:443", "127.0.0.1"],
  ["203.0.113.7:port", "127.0.0.1"],
] as const) {
  it(`finds the client's address in X-Forwarded-For: ${forwarded}`, async () => {
    const head = `GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX-Forwarded-For: ${forwarded}\r\n\r\n`;
    const { responses } = await send(plainServer.url, head);
    assert.equal(responses[0]?.body, JSON.stringify(address));
  });
}

for (const proto of ["http", "https", "http, https"]) {
  it(`counts a request over TLS as secure when a proxy sends X-Forwarded-Proto: ${proto}`, async () => {
    const options: RequestOptions = { ca: pair.cert, agent: false, headers: { "X-Forwarded-Proto": proto } };
    const [response] = (await once(get(server.url, options), "response")) as [IncomingMessage];
    assert.equal(String(Buffer.concat(await response.toArray())), "true");
  });
}
