import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type RequestOptions } from "node:https";
import type { IncomingMessage } from "node:http";
import { after, it } from "node:test";

import express from "express";

import { createRequestContext } from "../../../../http/framework/context.ts";
import { listen } from "../../../../http/framework/server.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { createCertificate } from "../../../support/certificate.ts";

const log = await createLogger("silent");
const pair = await createCertificate();
const app = express();
app.set("trust proxy", ["127.0.0.1"]);
app.use(createRequestContext(undefined), (_request, response) => {
  response.json(response.locals["secure"]);
});
const server = await listen(app, { host: "127.0.0.1", port: 0, maxConnections: 10, tls: pair, log });
after(() => server.close());

for (const proto of ["http", "https", "http, https"]) {
  it(`counts a request over TLS as secure when a proxy sends X-Forwarded-Proto: ${proto}`, async () => {
    const options: RequestOptions = { ca: pair.cert, agent: false, headers: { "X-Forwarded-Proto": proto } };
    const [response] = (await once(get(server.url, options), "response")) as [IncomingMessage];
    assert.equal(String(Buffer.concat(await response.toArray())), "true");
  });
}
