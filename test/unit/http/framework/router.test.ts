import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import express from "express";

import { createLogger } from "@topicsync/lib/logger";
import { createRequestContext } from "../../../../http/framework/context.ts";
import { createErrorHandler } from "../../../../http/framework/error-response.ts";
import { HttpError } from "../../../../src/operations/framework/errors.ts";
import { createEventStreams } from "../../../../http/framework/event-stream.ts";
import {
  eventStreamType,
  operation,
  type Operation,
} from "../../../../src/operations/framework/operation.ts";
import type { OperationServices } from "../../../../src/operations/framework/services.ts";
import { createRouter } from "../../../../http/framework/router.ts";
import { listen } from "../../../../http/framework/server.ts";
import type { User } from "../../../../src/users/user.ts";

const log = await createLogger("silent");
const origin = "capacitor://localhost";
const administrator: User = { name: "ann", roles: ["admin"], active: true };
/** What the operations and the authentication were called with. */
let calls: string[] = [];
/** What the store says about the caller, who is remembered as an administrator. */
let stored: User | undefined;

const common = { tag: "test", summary: "", description: "", replies: { 200: { description: "" } } } as const;
const body = {
  schema: {},
  check: (value: unknown) => ({ ok: true, value }) as const,
  wrongTypeStatus: 415,
} as const;
const json = { status: 200, json: {} };
function declare(one: Pick<Operation, "id" | "method" | "access"> & Partial<Operation>): Operation {
  return operation<unknown, unknown>({
    ...common,
    paths: [`/${one.id}`],
    handle({ acceptsEvents }) {
      calls.push(acceptsEvents ? `${one.id} with events` : one.id);
      return json;
    },
    ...one,
  });
}

const operations = [
  declare({ id: "grant", method: "POST", access: "admin", body }),
  declare({ id: "list", method: "GET", access: "admin" }),
  declare({ id: "register", method: "POST", access: "user", body, crossOrigin: true }),
  declare({ id: "own", method: "GET", access: "user", crossOrigin: true }),
  declare({ id: "other", method: "POST", access: "user", body }),
  declare({
    id: "json",
    method: "GET",
    access: "anybody",
    replies: { 200: { description: "", schema: {} } },
  }),
  declare({
    ...{ id: "both", method: "GET", access: "anybody" },
    replies: { 200: { description: "", schema: {}, mediaType: eventStreamType } },
  }),
];

const app = express();
app.use(createRequestContext(undefined));
app.use(
  createRouter(operations, {
    services: {} as OperationServices,
    authenticate(_request, _client, { afresh } = { afresh: false }) {
      calls.push(afresh ? "afresh" : "remembered");
      const user = afresh ? stored : administrator;
      if (user === undefined) throw new HttpError("UNAUTHENTICATED", "unknown");
      return { user };
    },
    audit: { on: false, record: () => undefined, recordAll: () => undefined },
    recordRefusal: () => undefined,
    streams: createEventStreams(new AbortController().signal),
    publicUrl: undefined,
    allowedOrigins: [origin, "null"],
  }),
);
app.use(createErrorHandler(log, () => undefined));
const server = await listen(app, { host: "127.0.0.1", port: 0, maxConnections: 10, tls: undefined, log });
after(() => server.close());

async function send(method: string, path: string, headers: Record<string, string> = {}): Promise<Response> {
  calls = [];
  const content = method === "POST" ? { body: "{}" } : {};
  const type = method === "POST" ? { "Content-Type": "application/json" } : {};
  return fetch(`${server.url}/${path}`, { method, headers: { ...type, ...headers }, ...content });
}

describe("an operation with the right admin", () => {
  it("that changes something asks the store for its caller, after the body has arrived", async () => {
    stored = administrator;
    assert.equal((await send("POST", "grant")).status, 200);
    assert.deepEqual(calls, ["remembered", "afresh", "grant"]);
    stored = undefined;
    assert.equal((await send("POST", "grant")).status, 401);
    stored = { ...administrator, roles: [] };
    assert.equal((await send("POST", "grant")).status, 403);
    assert.deepEqual(calls, ["remembered", "afresh"]);
  });

  it("that only reads does not, nor does one that grants nothing", async () => {
    await send("GET", "list");
    assert.deepEqual(calls, ["remembered", "list"]);
    await send("POST", "register");
    assert.deepEqual(calls, ["remembered", "register"]);
  });
});

describe("the Accept header", () => {
  it("may have parameters, and 406 is for those who take no JSON", async () => {
    for (const [accept, status] of [
      ["application/json; charset=utf-8", 200],
      ["application/json;odata=verbose", 200],
      ["application/hal+json, Application/JSON;charset=UTF-8;q=0.1", 200],
      ["application/json;charset=utf-8;q=0, */*", 406],
      ["text/html;level=1", 406],
    ] as const)
      assert.equal((await send("GET", "json", { Accept: accept })).status, status, accept);
  });

  it("chooses between JSON and events whatever the parameters", async () => {
    for (const [accept, expected] of [
      ["text/event-stream; charset=utf-8", "both with events"],
      ["application/json;charset=utf-8, text/event-stream;q=0.5", "both"],
      ["application/json;indent=2;q=0.5, text/event-stream", "both with events"],
    ] as const) {
      assert.equal((await send("GET", "both", { Accept: accept })).status, 200);
      assert.deepEqual(calls, [expected], accept);
    }
  });
});

describe("a page of another origin", () => {
  const preflight = (path: string, from: string, method = "POST"): Promise<Response> =>
    send("OPTIONS", path, { Origin: from, "Access-Control-Request-Method": method });

  it("may call the operations that allow it if its origin is allowed, and read the response", async () => {
    for (const allowed of [origin, "null"]) {
      const { status, headers } = await preflight("register", allowed);
      assert.equal(status, 204);
      assert.equal(headers.get("access-control-allow-origin"), allowed);
      assert.equal(headers.get("access-control-allow-methods"), "POST");
      assert.match(headers.get("access-control-allow-headers") ?? "", /Authorization, Content-Type/);
      const response = await send("POST", "register", { Origin: allowed, "Sec-Fetch-Site": "cross-site" });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("access-control-allow-origin"), allowed);
      assert.equal(response.headers.get("vary"), "Origin");
      assert.equal(response.headers.get("access-control-allow-credentials"), null);
    }
  });

  it("may read with such an operation, as may its preflight, if its origin is allowed", async () => {
    const asked = await preflight("own", origin, "GET");
    assert.equal(asked.headers.get("access-control-allow-methods"), "GET");
    const read = await send("GET", "own", { Origin: origin, "Sec-Fetch-Site": "cross-site" });
    assert.equal(read.headers.get("access-control-allow-origin"), origin);
    for (const [path, from] of [
      ["own", "https://evil.example"],
      ["list", origin],
    ] as const) {
      const { headers } = await send("GET", path, { Origin: from, "Sec-Fetch-Site": "cross-site" });
      assert.equal(headers.get("access-control-allow-origin"), null, path);
      const { status } = await preflight(path, from, "GET");
      assert.equal(status, 405, path);
    }
  });

  it("may not otherwise", async () => {
    for (const [path, from, method] of [
      ["register", "https://evil.example", "POST"],
      ["register", origin, "PUT"],
      ["other", origin, "POST"],
    ] as const) {
      const { status, headers } = await preflight(path, from, method);
      assert.deepEqual([status, headers.get("access-control-allow-origin")], [405, null], path);
    }
    for (const [path, from] of [
      ["register", "https://evil.example"],
      ["other", origin],
    ] as const) {
      const { status, headers } = await send("POST", path, { Origin: from, "Sec-Fetch-Site": "cross-site" });
      assert.deepEqual([status, headers.get("access-control-allow-origin")], [403, null], path);
    }
  });
});
