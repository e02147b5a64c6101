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

/** An index whose loads and look-ups the test resolves. Its feed opens once `opened` resolves. */
function createScene(options = {}, opened: Promise<unknown> = Promise.resolve()) {
  const listeners: FeedListener[] = [];
  const loads: PromiseWithResolvers<readonly PickableTopic[]>[] = [];
  const lookups: PromiseWithResolvers<readonly PickableTopic[]>[] = [];
  const index = createLiveTopicIndex(
    {
      async *streamAll() {
        const load = Promise.withResolvers<readonly PickableTopic[]>();
        loads.push(load);
        yield await load.promise;
      },
      find() {
        const lookup = Promise.withResolvers<readonly PickableTopic[]>();
        lookups.push(lookup);
        return lookup.promise;
      },
      async follow(listener) {
        listeners.push(listener);
        await opened;
        return { close: () => Promise.resolve() };
      },
    },
    pino({ level: "silent" }),
    options,
  );
  return { index, listeners, loads, lookups };
}

describe("the index of topics while it loads", () => {
  it("reads a topic that changed during the load once more before it is live", async () => {
    const { index, listeners, loads, lookups } = createScene();
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    listeners[0]?.onChanged([{ externalId: "changed", updatedOn: 1 }]);
    await until("the topic is read again", () => lookups.length === 1);
    loads[0]?.resolve([topic("other")]);
    await until("all topics are read", () => index.status().topicsRead === 1);
    // It may have been read before the load read that the topic is gone.
    lookups[0]?.resolve([topic("changed")]);
    await until("the topic is read once more", () => lookups.length === 2);
    assert.equal(index.status().mode, "loading");
    lookups[1]?.resolve([]);
    await live;
    assert.equal(index.status().topics, 1);
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

describe("the index of topics while its feed opens", () => {
  it("forgets a topic that this process wrote and another one removed before the feed was open", async () => {
    const opened = Promise.withResolvers<undefined>();
    const { index, listeners, loads } = createScene({}, opened.promise);
    index.start();
    await until("the feed is being opened", () => listeners.length === 1);
    const now = new Date();
    const source = { kind: "http", user: "user" } as const;
    index.changed({ created: [{ ...topic("removed"), source, createdOn: now, updatedOn: now }] });
    opened.resolve(undefined);
    await until("the load has begun", () => loads.length === 1);
    loads[0]?.resolve([topic("other")]);
    await until("the topics are loaded", () => index.status().topics > 0);
    assert.equal(index.status().topics, 1);
    await index.close();
  });

  it("stays closed when the feed opens late", async () => {
    const opened = Promise.withResolvers<undefined>();
    const { index, listeners, loads } = createScene({}, opened.promise);
    index.start();
    await until("the feed is being opened", () => listeners.length === 1);
    const closed = index.close();
    opened.resolve(undefined);
    await closed;
    assert.deepEqual([index.status().mode, loads.length], ["closed", 0]);
  });
});

describe("picking at this moment", () => {
  const event = { event: { a: "1" } };

  it("needs every change to be known: not before the first load, nor once the feed is lost", async () => {
    const { index, listeners, loads } = createScene();
    assert.equal(index.pickNow(event), undefined);
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    assert.deepEqual([index.status().mode, index.pickNow(event)], ["loading", undefined]);
    loads[0]?.resolve([topic("one")]);
    await live;
    assert.deepEqual([index.status().mode, index.pickNow(event)], ["live", ["one"]]);
    listeners[0]?.onLost(new Error("lost"));
    assert.deepEqual([index.status().mode, index.pickNow(event)], ["reloading", undefined]);
    assert.equal(index.status().topics, 1);
    const again = index.waitUntilLive();
    await until("the load has begun again", () => loads.length === 2);
    assert.equal(index.pickNow(event), undefined);
    loads[1]?.resolve([topic("one"), topic("two")]);
    await again;
    assert.deepEqual(index.pickNow(event)?.sort(), ["one", "two"]);
    await index.close();
  });

  it("stops waiting when the index is closed", async () => {
    const { index, loads } = createScene();
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    loads[0]?.resolve([]);
    await index.close();
    await live;
  });

  it("returns the namespace of a topic where namespaces are kept", async () => {
    const { index, listeners, loads, lookups } = createScene({ keepsNamespaces: true });
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    loads[0]?.resolve([{ ...topic("one"), namespace: "sales" }]);
    await live;
    assert.equal(index.getNamespace("one"), "sales");
    listeners[0]?.onChanged([{ externalId: "one", updatedOn: undefined }]);
    await until("the topic is read again", () => lookups.length === 1);
    lookups[0]?.resolve([]);
    await until("the topic is removed", () => index.status().topics === 0);
    assert.equal(index.getNamespace("one"), "");
    await index.close();
  });
});
