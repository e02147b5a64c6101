import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  addLastEvents,
  selectUnused,
  splitTopics,
  toDay,
  toUsageView,
  usageDays,
  type CountingSpan,
  type TopicUsage,
} from "../../../src/topics/usage.ts";
import type { ListedTopic } from "../../../src/topics/topic.ts";
import { createDefinition } from "./model.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Shortly after midnight in UTC, while it is another day in most other zones. */
const now = Date.parse("2026-03-01T00:00:01Z");
const today = toDay(new Date(now));

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
            return on === undefined ? [] : [[id, { lastOn: new Date(on), days: new Map() }]];
          }),
        ),
      ),
  };
}

describe("a day of usage", () => {
  it("is one of UTC, from midnight to the last millisecond", () => {
    const start = Date.parse("2026-02-28T00:00:00.000Z");
    assert.deepEqual(
      [start - 1, start, start + dayMs - 1, start + dayMs].map((time) => toDay(new Date(time))),
      [today - 2, today - 1, today - 1, today],
    );
    assert.equal(toDay(new Date(0)), 0);
  });
});

describe("the usage that is shown", () => {
  it("has today and the 29 days before, the oldest first, and the sum of these days", (t) => {
    t.mock.timers.enable({ apis: ["Date"], now });
    const days = new Map([
      [today - 30, 1_000],
      [today - 29, 100],
      [today - 1, 10],
      [today, 1],
      [today + 1, 5_000],
    ]);
    const lastOn = new Date(now - 500);
    const counting = { since: new Date(now - 40 * dayMs), until: new Date(now) };
    const view = toUsageView("a", { lastOn, days }, counting);
    assert.deepEqual(
      [view.externalId, view.events, view.lastEventOn],
      ["a", 111, "2026-03-01T00:00:00.500Z"],
    );
    assert.deepEqual(view.counted, {
      since: "2026-01-20T00:00:01.000Z",
      until: "2026-03-01T00:00:01.000Z",
    });
    assert.equal(view.days.length, usageDays);
    assert.deepEqual(
      view.days.filter(({ events }) => events > 0),
      [
        { day: "2026-01-31", events: 100 },
        { day: "2026-02-28", events: 10 },
        { day: "2026-03-01", events: 1 },
      ],
    );
    assert.deepEqual([view.days[0]?.day, view.days.at(-1)?.day], ["2026-01-31", "2026-03-01"]);
  });

  it("is nothing for a topic that never matched, or where nothing was counted", (t) => {
    t.mock.timers.enable({ apis: ["Date"], now });
    const { lastEventOn, events, days, counted } = toUsageView("a", undefined, undefined);
    assert.deepEqual([lastEventOn, events, days.length, counted], [null, 0, 30, null]);
  });
});

describe("unused topics", () => {
  const since = now - 10 * dayMs;
  const select = async (counting: CountingSpan | undefined, duration = "10d") => {
    const usage = createUsage({ before: since - 1, "at the start": since, after: since + 1 }, counting);
    const { isKnown, select: choose } = await selectUnused(usage, duration);
    const topics = [
      ...["before", "at the start", "after", "never"].map((id) => listTopic(id, 0)),
      listTopic("as old", since),
      listTopic("younger", since + 1),
    ];
    return { isKnown, ids: (await choose(topics)).map(({ topic }) => topic.externalId) };
  };

  it("existed for the whole time, without an event in it", async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now });
    const unused = { isKnown: true, ids: ["before", "never", "as old"] };
    const counting = { since: new Date(since), until: new Date(now) };
    assert.deepEqual(await select(counting), unused);
    assert.deepEqual(await select(counting, "240h"), unused);
    assert.deepEqual(await select(counting, "14400m"), unused);
    assert.deepEqual(await select(counting, "864000s"), unused);
  });

  it("are unknown if events were not counted for so long", async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now });
    const unknown = { isKnown: false, ids: [] };
    assert.deepEqual(await select({ since: new Date(since + 1), until: new Date(now) }), unknown);
    assert.deepEqual(await select(undefined), unknown);
  });
});

describe("the last events of topics", () => {
  it("are added to the topics that had any", async () => {
    const listed = await addLastEvents(createUsage({ a: 5 }), [listTopic("a", 0), listTopic("b", 0)]);
    assert.deepEqual(
      listed.map(({ lastEventOn }) => lastEventOn),
      [new Date(5), undefined],
    );
  });

  it("are not those of another topic that had the external id before", async () => {
    const former = { lastOn: new Date(5), days: new Map() };
    const usage = { find: () => Promise.resolve(new Map([["a", { ...former, topicId: "former" }]])) };
    const [listed] = await addLastEvents(usage, [listTopic("a", 0)]);
    assert.equal(listed?.lastEventOn, undefined);
    const own = { find: () => Promise.resolve(new Map([["a", { ...former, topicId: "a" }]])) };
    assert.deepEqual((await addLastEvents(own, [listTopic("a", 0)]))[0]?.lastEventOn, new Date(5));
  });

  it("are looked up for 200 topics at a time, and for the rest", async () => {
    async function* read(count: number) {
      for (let at = 0; at < count; at += 1) yield await Promise.resolve(listTopic(`t${at}`, 0));
    }
    for (const [count, sizes] of [
      [0, []],
      [200, [200]],
      [401, [200, 200, 1]],
    ] as const) {
      const parts: string[][] = [];
      for await (const part of splitTopics(read(count)))
        parts.push(part.map(({ topic }) => topic.externalId));
      assert.deepEqual(
        parts.map(({ length }) => length),
        sizes,
      );
      assert.deepEqual(
        parts.flat(),
        Array.from({ length: count }, (_, at) => `t${at}`),
      );
    }
  });
});
