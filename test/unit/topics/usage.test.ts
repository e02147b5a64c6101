import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  addUsage,
  selectUnused,
  toUsageView,
  type CountingSpan,
  type TopicUsage,
} from "../../../src/topics/usage.ts";
import type { ListedTopic } from "../../../src/topics/topic.ts";
import { createDefinition } from "./model.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Shortly after midnight in UTC, while it is another day in most other zones. */
const now = Date.parse("2026-03-01T00:00:01Z");

const listTopic = (externalId: string, createdOn: number): ListedTopic => ({
  topic: {
    ...{ ...createDefinition(externalId), id: externalId, version: 1 },
    ...{ source: { kind: "http", user: "ann" }, createdOn: new Date(createdOn), updatedOn: new Date(now) },
  },
});

function createUsage(lastOn: Readonly<Record<string, number>>, counting?: CountingSpan) {
  const never = () => Promise.reject(new Error("not used"));
  return {
    ...{ add: never, noteCounting: never, findCounting: () => Promise.resolve(counting) },
    find: (externalIds: readonly string[]) =>
      Promise.resolve(
        new Map(
          externalIds.flatMap((id): [string, TopicUsage][] => {
            const on = lastOn[id];
            return on === undefined ? [] : [[id, { lastOn: new Date(on), events: 1 }]];
          }),
        ),
      ),
  };
}

describe("the usage that is shown", () => {
  it("has the events, the time of the last one, and when they were counted", () => {
    const counting = { since: new Date(now - 40 * dayMs), until: new Date(now) };
    assert.deepEqual(toUsageView("a", { lastOn: new Date(now - 500), events: 111 }, counting), {
      externalId: "a",
      events: 111,
      lastEventOn: "2026-03-01T00:00:00.500Z",
      counted: { since: "2026-01-20T00:00:01.000Z", until: "2026-03-01T00:00:01.000Z" },
    });
  });

  it("is nothing for a topic that never matched, or where nothing was counted", () => {
    const nothing = { externalId: "a", events: 0, lastEventOn: null, counted: null };
    assert.deepEqual(toUsageView("a", undefined, undefined), nothing);
  });
});

describe("unused topics", () => {
  const since = now - 10 * dayMs;
  const select = async (counting: CountingSpan | undefined, duration = "10d") => {
    const usage = createUsage({ before: since - 1, "at the start": since, after: since + 1 }, counting);
    const { select: choose } = await selectUnused(usage, duration);
    const topics = [
      ...["before", "at the start", "after", "never"].map((id) => listTopic(id, 0)),
      listTopic("as old", since),
      listTopic("younger", since + 1),
    ];
    return (await choose(topics)).map(({ topic }) => topic.externalId);
  };

  it("existed for the whole time, without an event in it", async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now });
    const unused = ["before", "never", "as old"];
    const counting = { since: new Date(since), until: new Date(now) };
    assert.deepEqual(await select(counting), unused);
    assert.deepEqual(await select(counting, "240h"), unused);
    assert.deepEqual(await select(counting, "14400m"), unused);
    assert.deepEqual(await select(counting, "864000s"), unused);
  });

  it("are unknown if events were not counted for so long", async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now });
    assert.deepEqual(await select({ since: new Date(since + 1), until: new Date(now) }), []);
    assert.deepEqual(await select(undefined), []);
  });
});

describe("the last events of topics", () => {
  it("are added to the topics that had any", async () => {
    const listed = await addUsage(createUsage({ a: 5 }), [listTopic("a", 0), listTopic("b", 0)]);
    assert.deepEqual(
      listed.map(({ lastEventOn }) => lastEventOn),
      [new Date(5), undefined],
    );
  });

  it("are not those of another topic that had the external id before", async () => {
    const former = { lastOn: new Date(5), events: 1 };
    const usage = { find: () => Promise.resolve(new Map([["a", { ...former, topicId: "former" }]])) };
    const [listed] = await addUsage(usage, [listTopic("a", 0)]);
    assert.equal(listed?.lastEventOn, undefined);
    const own = { find: () => Promise.resolve(new Map([["a", { ...former, topicId: "a" }]])) };
    assert.deepEqual((await addUsage(own, [listTopic("a", 0)]))[0]?.lastEventOn, new Date(5));
  });
});
