import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { pino } from "pino";

import type { FeedListener, PickableTopic } from "../../../src/matching/feed.ts";
import { createLiveTopicIndex } from "../../../src/matching/live-topic-index.ts";
import { until } from "../../support/poll.ts";

const topic = (externalId: string): PickableTopic => ({
  id: externalId,
  externalId,
  name: externalId,
  namespace: "",
  headerQuery: "",
  contentQuery: "a=1",
});

/** An index whose loads and look-ups the test resolves. */
function createScene() {
  const listeners: FeedListener[] = [];
  const loads: PromiseWithResolvers<readonly PickableTopic[]>[] = [];
  const lookups: PromiseWithResolvers<readonly PickableTopic[]>[] = [];
  const index = createLiveTopicIndex(
    {
      async *streamAll() {
        const load = Promise.withResolvers<readonly PickableTopic[]>();
        loads.push(load);
        yield* await load.promise;
      },
      find() {
        const lookup = Promise.withResolvers<readonly PickableTopic[]>();
        lookups.push(lookup);
        return lookup.promise;
      },
      follow(listener) {
        listeners.push(listener);
        return Promise.resolve({ close: () => Promise.resolve() });
      },
    },
    pino({ level: "silent" }),
  );
  return { index, listeners, loads, lookups };
}

describe("the index of topics while it loads", () => {
  it("has a topic that changed during the load, also before it was read again", async () => {
    const { index, listeners, loads, lookups } = createScene();
    index.start();
    await until("the load has begun", () => loads.length === 1);
    listeners[0]?.onChanged([{ externalId: "changed", updatedOn: 1 }]);
    await until("the topic is read again", () => lookups.length === 1);
    loads[0]?.resolve([topic("changed"), topic("other")]);
    await until("the topics are loaded", () => index.status().topics > 0);
    assert.equal(index.status().topics, 2);
    lookups[0]?.resolve([]);
    await until("the topic is removed", () => index.status().topics === 1);
    await index.close();
  });

  it("keeps what this process wrote or removed during the load", async () => {
    const { index, loads } = createScene();
    index.start();
    await until("the load has begun", () => loads.length === 1);
    const now = new Date();
    const source = { kind: "http", user: "user" } as const;
    const removed = { ...topic("removed"), source, createdOn: now, updatedOn: now };
    index.changed({ removed: [removed] });
    loads[0]?.resolve([topic("removed"), topic("other")]);
    await until("the topics are loaded", () => index.status().topics > 0);
    assert.equal(index.status().topics, 1);
    await index.close();
  });
});
