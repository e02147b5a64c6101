import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { call } from "../../support/http.ts";
import { until } from "../../support/poll.ts";
import { exchange } from "../../support/raw-http.ts";
import { stage } from "../../support/scene.ts";
import { bootstrap, startTopicsyncHere } from "../../support/service.ts";

const { scene } = stage();

/** The samples of a metric whose labels contain this text, with their values. */
async function readSamples(url: string, name: string, label = ""): Promise<Record<string, number>> {
  const { text } = await call(`${url}/metrics`, { method: "GET" });
  const lines = text.split("\n").filter((line) => line.startsWith(name) && line.includes(label));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(name.length, at), Number(line.slice(at + 1))];
    }),
  );
}

describe("the metrics of HTTP", () => {
  it("count requests by route and status, rejections by code, and failed logins", async () => {
    const { settings } = scene();
    const service = await startTopicsyncHere(settings);
    await service.ready();
    const { url } = service;
    const topics = `${url}/api/topicsync/v1/topics`;
    assert.equal((await call(topics, { method: "GET" })).status, 200);
    assert.equal(
      (await call(topics, { method: "GET", as: { ...bootstrap, password: "a wrong one" } })).status,
      401,
    );
    assert.equal((await call(topics, { method: "GET", as: undefined })).status, 401);
    const session = `${url}/api/topicsync/v1/session`;
    const wrong = { user: bootstrap.user, password: "another wrong one" };
    assert.equal((await call(session, { body: wrong, as: undefined })).status, 401);
    assert.equal((await call(`${url}/%7B${"x".repeat(50)}`, { method: "GET" })).status, 404);
    const { responses } = await exchange(url, (socket) => {
      socket.end("GET / HTTP/1.1 but not really\r\n\r\n");
    });
    assert.deepEqual(
      responses.map(({ status }) => status),
      [400],
    );

    const name = "topicsync_http_request_duration_seconds_count";
    // A request is counted once its connection has the response, which may be after the client has read it.
    const counts = await until("all are counted", async () => {
      const found = await readSamples(url, name, 'route="none"');
      return Object.keys(found).length > 0 ? readSamples(url, name) : undefined;
    });
    const route = 'method="GET",route="/api/topicsync/v1/topics"';
    assert.equal(counts[`{${route},status="200"}`], 1);
    assert.equal(counts[`{${route},status="401"}`], 2);
    assert.equal(counts['{method="POST",route="/api/topicsync/v1/session",status="401"}'], 1);
    assert.equal(counts['{method="GET",route="none",status="404"}'], 1);
    assert.doesNotMatch(Object.keys(counts).join(), /xxx/, "paths of strangers are no labels");
    const rejections = await readSamples(url, "topicsync_http_rejections_total");
    const seen = Object.entries(rejections).filter(([, count]) => count > 0);
    assert.deepEqual(Object.fromEntries(seen), {
      '{code="UNAUTHENTICATED"}': 3,
      '{code="NOT_FOUND"}': 1,
      '{code="BAD_REQUEST"}': 1,
    });
    assert.deepEqual(await readSamples(url, "topicsync_failed_logins_total"), { "": 2 });
    assert.equal(await service.stop(), 0);
  });
});
