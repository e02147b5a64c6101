import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { pino } from "pino";

import { replacePlatform, type Platform } from "@topicsync/lib/platform";
import type { FeedListener, PickableTopic } from "../../../../src/topics/live/feed.ts";
import { LiveTopicIndex } from "../../../../src/topics/live/live-topic-index.ts";
import { createPickableTopic as topic } from "../../../support/pickable-topic.ts";
import { until } from "../../../support/poll.ts";

/** An index whose loads and look-ups the test resolves. Its feed opens once `opened` resolves. */
function createScene(opened: Promise<unknown> = Promise.resolve()) {
  const listeners: FeedListener[] = [];
  const loads: PromiseWithResolvers<readonly PickableTopic[]>[] = [];
  const lookups: PromiseWithResolvers<readonly PickableTopic[]>[] = [];
  const index = new LiveTopicIndex(
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
    const removed = { ...topic("removed"), version: 1, source, createdOn: now, updatedOn: now };
    void index.changed({ removed: [removed] });
    loads[0]?.resolve([topic("removed"), topic("other")]);
    await until("the topics are loaded", () => index.status().topics > 0);
    assert.equal(index.status().topics, 1);
    await index.close();
  });
});

describe("a write of this process", () => {
  const source = { kind: "http", user: "user" } as const;
  const written = (externalId: string, updatedOn: Date) => {
    return { ...topic(externalId), version: 1, source, createdOn: updatedOn, updatedOn };
  };

  it("is not read again if it is reported soon", async () => {
    const { index, listeners, loads, lookups } = createScene();
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    loads[0]?.resolve([]);
    await live;
    const decidedOn = new Date();
    void index.changed({ created: [written("own", decidedOn)] });
    listeners[0]?.onChanged([{ externalId: "own", updatedOn: decidedOn.getTime() }]);
    assert.deepEqual([index.status().topics, lookups.length], [1, 0]);
    await index.close();
  });

  it("is read again if it is reported late, since another process may have replaced it", async () => {
    const { index, loads, lookups } = createScene();
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    loads[0]?.resolve([]);
    await live;
    const decidedOn = new Date(Date.now() - 15_000);
    void index.changed({ created: [written("removed", decidedOn)] });
    await until("it is read again", () => lookups.length === 1);
    lookups[0]?.resolve([]);
    await until("it is removed", () => index.status().topics === 0);
    const retiredBy = source;
    const retired = { topic: written("enabled", decidedOn), retiredOn: decidedOn, retiredBy };
    void index.changed({ retired: [retired] });
    await until("it is read again", () => lookups.length === 2);
    lookups[1]?.resolve([topic("enabled")]);
    await until("it is kept", () => index.status().topics === 1);
    await index.close();
  });

  it("is read again if it was decided before the feed was followed", async () => {
    const decidedOn = new Date();
    await until("a millisecond has passed", () => Date.now() > decidedOn.getTime());
    const { index, loads, lookups } = createScene();
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    loads[0]?.resolve([]);
    await live;
    void index.changed({ created: [written("removed", decidedOn)] });
    await until("it is read again", () => lookups.length === 1);
    lookups[0]?.resolve([]);
    await index.close();
  });
});

describe("a topic that another process stores again", () => {
  it("is picked, also if its time is before that of its retirement because the other clock is behind", async () => {
    const { index, listeners, loads, lookups } = createScene();
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    loads[0]?.resolve([topic("again")]);
    await live;
    const retiredOn = new Date();
    const retiredBy = { kind: "http", user: "user" } as const;
    const retired = {
      ...topic("again"),
      version: 1,
      source: retiredBy,
      createdOn: retiredOn,
      updatedOn: retiredOn,
    };
    void index.changed({ retired: [{ topic: retired, retiredOn, retiredBy }] });
    assert.equal(index.status().topics, 0);
    listeners[0]?.onChanged([{ externalId: "again", updatedOn: retiredOn.getTime() - 60_000 }]);
    await until("it is read again", () => lookups.length === 1);
    lookups[0]?.resolve([topic("again")]);
    await until("it is indexed", () => index.status().topics === 1);
    await index.close();
  });
});

describe("a change that cannot be read", () => {
  it("is read once that is possible, and nothing is picked at once before", async () => {
    const { index, listeners, loads, lookups } = createScene();
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    loads[0]?.resolve([]);
    await live;
    listeners[0]?.onChanged([{ externalId: "changed", updatedOn: 1 }]);
    await until("the topic is read", () => lookups.length === 1);
    lookups[0]?.reject(new Error("not authorized on topicsync to execute command find"));
    await until("the feed counts as lost", () => index.status().mode !== "live");
    assert.equal(index.pickNow({ event: { a: "1" } }), undefined);
    // A load that begins after the change contains it, and may be first.
    await until("the index is live", () => {
      for (const load of loads) load.resolve([topic("changed")]);
      for (const lookup of lookups) lookup.resolve([topic("changed")]);
      return index.status().mode === "live";
    });
    assert.deepEqual(index.pickNow({ event: { a: "1" } }), ["changed"]);
    await index.close();
  });

  it("does not keep a load waiting once the feed is lost", async () => {
    const { index, listeners, loads, lookups } = createScene();
    index.start();
    await until("the load has begun", () => loads.length === 1);
    listeners[0]?.onChanged([{ externalId: "changed", updatedOn: 1 }]);
    await until("the topic is read", () => lookups.length === 1);
    loads[0]?.resolve([]);
    listeners[0]?.onLost(new Error("lost"));
    await until("the topics are loaded again", () => loads.length === 2);
    for (const { resolve } of [...loads, ...lookups]) resolve([]);
    await index.close();
  });
});

describe("the index of topics while its feed opens", () => {
  it("forgets a topic that this process wrote and another one removed before the feed was open", async () => {
    const opened = Promise.withResolvers<undefined>();
    const { index, listeners, loads } = createScene(opened.promise);
    index.start();
    await until("the feed is being opened", () => listeners.length === 1);
    const now = new Date();
    const source = { kind: "http", user: "user" } as const;
    void index.changed({
      created: [{ ...topic("removed"), version: 1, source, createdOn: now, updatedOn: now }],
    });
    opened.resolve(undefined);
    await until("the load has begun", () => loads.length === 1);
    loads[0]?.resolve([topic("other")]);
    await until("the topics are loaded", () => index.status().topics > 0);
    assert.equal(index.status().topics, 1);
    await index.close();
  });

  it("stays closed when the feed opens late", async () => {
    const opened = Promise.withResolvers<undefined>();
    const { index, listeners, loads } = createScene(opened.promise);
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
    for (const externalId of ["one", "one", "removed"]) index.count(externalId, 1);
    const again = index.waitUntilLive();
    await until("the load has begun again", () => loads.length === 2);
    assert.equal(index.pickNow(event), undefined);
    loads[1]?.resolve([topic("one"), topic("two")]);
    await again;
    assert.deepEqual(index.pickNow(event)?.sort(), ["one", "two"]);
    // What was counted before the topics were loaded again is kept.
    assert.deepEqual([...index.takeCounts()], [{ externalId: "one", matches: 2 }]);
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

  it("returns the namespace of a topic", async () => {
    const { index, listeners, loads, lookups } = createScene();
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

  it("takes turns with a load and with a change of many topics, and is live once both are applied", async (t) => {
    let [time, turns] = [0, 0];
    const platform: Platform = {
      now: () => former.now(),
      // Each topic takes longer than a turn.
      elapsed: () => (time += 20),
      schedule: (delayMs, action) => former.schedule(delayMs, action),
      scheduleSoon(action) {
        turns += 1;
        return former.scheduleSoon(action);
      },
      random: () => former.random(),
      fillRandom: (bytes) => {
        former.fillRandom(bytes);
      },
    };
    const former = replacePlatform(platform);
    t.after(() => void replacePlatform(former));
    const many = (prefix: string) => Array.from({ length: 10 }, (_, at) => topic(`${prefix}${at}`));
    const { index, loads } = createScene();
    const live = index.waitUntilLive();
    await until("the load has begun", () => loads.length === 1);
    const at = new Date(former.now());
    const source = { kind: "http", user: "ann" } as const;
    const created = many("written").map((one) => ({
      ...one,
      version: 1,
      source,
      createdOn: at,
      updatedOn: at,
    }));
    loads[0]?.resolve(many("loaded"));
    const applied = index.changed({ created });
    await live;
    assert.ok(turns >= 19, `${turns} turns`);
    assert.equal(index.status().topics, 20);
    await applied;

    const event = { event: { a: 1 } };
    const removing = index.changed({ removed: created });
    assert.equal(index.pickNow(event)?.length, 19);
    await removing;
    assert.equal(index.pickNow(event)?.length, 10);
    await index.close();
  });
});
