import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { it, type TestContext } from "node:test";

import { exitCodes } from "@topicsync/lib/errors";
import type { ReplayBody, SkippedReplay } from "../../../schemas/dead-letters/replay.ts";
import { runCli } from "../../support/service.ts";

const topic = "announcements";
const toId = (offset: number): string => `${topic}-0-${offset}`;

interface Answer {
  readonly status?: number;
  readonly skipped?: readonly Pick<SkippedReplay, "id" | "reason">[];
}

/** A service that lists dead letters of these offsets; `answers` are those to the requests that send. */
async function startServer(t: TestContext, offsets: readonly number[], answers: readonly Answer[] = []) {
  const planned: (readonly string[])[] = [];
  const sent: (readonly string[])[] = [];
  async function respond(method: string | undefined, url: URL, body: () => Promise<unknown>) {
    if (method === "GET") {
      const from = Number(url.searchParams.get("after") ?? 0);
      const limit = Number(url.searchParams.get("limit"));
      const page = offsets.slice(from, from + limit).map((offset) => ({
        id: toId(offset),
        source: offset < 0 ? null : { topic, partition: 0, offset },
      }));
      const next = from + limit < offsets.length ? String(from + limit) : null;
      return { status: 200, body: { deadLetters: page, next, unlisted: 0 } };
    }
    const { ids, dryRun } = (await body()) as ReplayBody;
    const { status = 200, skipped = [] } = dryRun ? {} : (answers[sent.length] ?? {});
    (dryRun ? planned : sent).push(ids);
    const left = ids.filter((id) => !skipped.some((one) => one.id === id));
    const reasons = skipped.map((one) => ({ ...one, message: `because it is ${one.reason}` }));
    return { status, body: { topic, sent: left, skipped: reasons } };
  }
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    void respond(request.method, url, () => json(request)).then(({ status, body }) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const settings = { TOPICSYNC_SERVER: `http://127.0.0.1:${port}`, TOPICSYNC_TOKEN: "tsk_any" };
  const replay = (...args: string[]) => runCli(["dead-letters", "replay", ...args, "--yes"], settings);
  return { replay, planned, sent };
}

it("a replay of a filter sends request after request in the original order", async (t) => {
  // The times of the records order a list, not their offsets.
  const offsets = Array.from({ length: 2_500 }, (_, i) => (i * 7) % 2_500);
  const { replay, sent } = await startServer(t, [...offsets, -1, -2]);
  const { code, output, errors } = await replay("--all");
  assert.equal(code, exitCodes.ok, errors);
  assert.deepEqual(sent.flat(), [-2, -1, ...offsets.toSorted((a, b) => a - b)].map(toId));
  assert.ok(sent.length > 1 && sent.every((ids) => JSON.stringify({ ids }).length < 100_000));
  assert.match(output, /sent 2502 of 2502 dead letters to announcements/);
});

it("a replay of ids is one request, which the service puts in order", async (t) => {
  const { replay, planned, sent } = await startServer(t, []);
  const ids = Array.from({ length: 500 }, (_, i) => toId(500 - i));
  await replay(...ids);
  assert.deepEqual(planned, [ids]);
  assert.deepEqual(sent.flat(), ids);
});

it("a replay that ends early says how many were sent, and what was not", async (t) => {
  const offsets = Array.from({ length: 700 }, (_, i) => i);
  const unavailable = await startServer(t, offsets, [
    { skipped: [{ id: toId(5), reason: "rejected" }] },
    { status: 503 },
  ]);
  const first = await unavailable.replay("--all");
  assert.equal(first.code, exitCodes.unavailable);
  assert.match(first.errors, /299 of 700 dead letters were sent \(repeat the command .*then: .*status 503/);
  assert.match(first.output, /announcements-0-5 +because it is rejected/);

  const stopping = await startServer(t, offsets, [{ skipped: [{ id: toId(7), reason: "interrupted" }] }]);
  const second = await stopping.replay("--all", "--again");
  assert.equal(second.code, exitCodes.unavailable);
  assert.equal(stopping.sent.length, 1);
  assert.match(second.errors, /299 of 700 .*\(repeating the command sends them again\), then: .*interrupted/);
});
