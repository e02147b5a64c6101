import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { basic, call } from "../support/http.ts";
import { until } from "../support/poll.ts";
import { bootstrap, ownNames, startTopicsync, type TestService } from "../support/service.ts";
import { sharedStack, testDatabase } from "../support/stack.ts";

const stack = sharedStack();
const { uri } = testDatabase(stack.mongodb);
const path = "/api/topicsync/v1/overview";
let service: TestService;

before(async () => {
  service = await startTopicsync({ ...ownNames(), MONGODB_URI: uri, KAFKA_BROKERS: stack.kafka });
  await service.ready();
});

/** Begins to watch; what came so far is in `text`. */
async function watch() {
  const answer = await fetch(`${service.url}${path}/events`, {
    headers: { Authorization: basic(bootstrap), Accept: "text/event-stream" },
  });
  const watched = { answer, text: "", over: false };
  void (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of answer.body ?? []) watched.text += decoder.decode(bytes as Uint8Array);
  })().finally(() => (watched.over = true));
  return watched;
}

describe("the overview over HTTP", () => {
  it("tells how everything is", async () => {
    const { status, json } = await call(`${service.url}${path}`, { method: "GET" });
    assert.equal(status, 200);
    assert.equal(json.ready, true);
    assert.deepEqual(Object.keys(json.checks), ["mongodb", "kafka", "consumer"]);
    assert.deepEqual([json.installations, json.letters, json.problems], [[], [], []]);
  });

  it("comes again and again to whoever watches, until the service stops, which waits for nobody", async () => {
    const watched = await watch();
    assert.equal(watched.answer.status, 200);
    assert.equal(watched.answer.headers.get("content-type"), "text/event-stream");
    await until("two events came", () => watched.text.split("\n\n").length > 2);
    const [first = ""] = watched.text.split("\n\n");
    assert.equal(JSON.parse(first.slice("data: ".length)).ready, true);

    const others = await Promise.all(Array.from({ length: 199 }, watch));
    assert.ok(others.every(({ answer }) => answer.status === 200));
    const { answer } = await watch();
    assert.equal(answer.status, 503, "no more may watch");
    assert.equal(await service.stop(), 0);
    await until("all have ended", () => [watched, ...others].every(({ over }) => over));
    assert.ok(
      service.log.every(({ level }) => level < 50),
      "nothing went wrong",
    );
  });
});
