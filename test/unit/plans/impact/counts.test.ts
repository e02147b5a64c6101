import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { FilterSyntaxError, parseEvent, readFilters } from "@topicsync/filters";
import type { ImpactResult } from "../../../../schemas/impact.ts";
import { ImpactCounts } from "../../../../src/plans/impact/counts.ts";
import type { ReadEvent } from "../../../../src/plans/impact/events.ts";
import { ReadTally } from "../../../../src/plans/impact/read-tally.ts";
import { createRandom } from "../../../support/random.ts";
import { eventRecords, events, topicFilters } from "../../../../packages/filters/test/filter/arbitraries.ts";
import { satisfiesAll } from "../../../../packages/filters/test/filter/model.ts";

const hourMs = 3_600_000;
/** The result for records with these times. */
function toResult(counts: ImpactCounts, ...times: readonly number[]): ImpactResult {
  const tally = new ReadTally({ add: () => undefined });
  for (const timestamp of times) tally.add(createEvent(0, {}, { timestamp }));
  return counts.toResult({ complete: true, read: tally.describe() });
}

const listTopics = (counts: ImpactCounts) => toResult(counts).topics;

const createEvent = (offset: number, event: unknown, more: Partial<ReadEvent> = {}): ReadEvent => ({
  partition: 0,
  offset,
  event,
  record: {},
  timestamp: 1_000 * offset,
  bytes: 100,
  only: undefined,
  ...more,
});
const nameEvent = ({ offset }: ReadEvent): string => String(offset);

describe("the counts of an impact", () => {
  it("are those of the plain meaning of the filters", () => {
    const change = fc.record({
      before: fc.option(topicFilters, { nil: undefined }),
      after: fc.option(topicFilters, { nil: undefined }),
    });
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 6 }),
        fc.array(fc.tuple(events, eventRecords), { maxLength: 12 }),
        (given, read) => {
          const changes = given.map((one, at) => ({ ...one, externalId: `t${at}` }));
          const counts = new ImpactCounts(changes, { maxExamples: 2, nameEvent });
          for (const [at, [event, record]] of read.entries()) counts.add(createEvent(at, event, { record }));
          const matches = (
            filters: (typeof given)[number]["before"],
            [event, record]: (typeof read)[number],
          ) => filters !== undefined && satisfiesAll(readFilters(filters), event, record);
          assert.deepEqual(
            listTopics(counts).map(({ newly, noLonger, still }) => ({ newly, noLonger, still })),
            given.map(({ before, after }) => {
              const pairs = read.map((one) => [matches(before, one), matches(after, one)] as const);
              return {
                newly: pairs.filter(([was, is]) => is && !was).length,
                noLonger: pairs.filter(([was, is]) => was && !is).length,
                still: pairs.filter(([was, is]) => was && is).length,
              };
            }),
          );
        },
      ),
    );
  });

  it("choose the same examples in whatever order the events come", () => {
    const change = { externalId: "t", before: { contentQuery: "a=1" }, after: { contentQuery: "a=2" } };
    const given = Array.from({ length: 200 }, (_, at) =>
      createEvent(at, { event: { a: String(1 + (at % 3)) } }),
    );
    const list = (order: readonly ReadEvent[]) => {
      const counts = new ImpactCounts([change], { maxExamples: 4, nameEvent });
      for (const one of order) counts.add(one);
      return listTopics(counts)[0]?.examples;
    };
    const random = createRandom(7);
    const expected = list(given);
    assert.equal(expected?.newly.length, 4);
    // Those from anywhere, not the first ones.
    assert.ok(expected.newly.some(({ event }) => Number(event) > 20));
    for (let round = 0; round < 5; round += 1) assert.deepEqual(list(random.shuffle(given)), expected);
  });

  it("name the conditions that decide", () => {
    const change = {
      externalId: "t",
      before: { headerQuery: "eventType=A", contentQuery: "severity=Critical&site=north" },
      after: { headerQuery: "eventType=A", contentQuery: "severity=Critical,Major&site=north" },
    };
    const counts = new ImpactCounts([change], { maxExamples: 1, nameEvent });
    counts.add(createEvent(5, { eventType: "A", event: { severity: "Major", site: "north" } }));
    const [topic] = listTopics(counts);
    assert.equal(topic?.change, "widened");
    assert.deepEqual(topic.examples.newly, [
      {
        event: "5",
        time: "1970-01-01T00:00:05.000Z",
        decidedBy: [
          {
            version: "before",
            filter: "contentQuery",
            condition: "event.severity=Critical",
            held: false,
            found: ["Major"],
          },
        ],
      },
    ]);
  });

  it("are limited in size, however large events and filters are", () => {
    const many = Array.from({ length: 50 }, (_, at) => `${"x".repeat(100)}${at}=${"v".repeat(50)}`).join("&");
    const change = { externalId: "t", before: { contentQuery: many }, after: { contentQuery: "" } };
    const counts = new ImpactCounts([change], { maxExamples: 1, nameEvent });
    const values = Array.from({ length: 1_000 }, () => "\u{1F600}".repeat(500_000 / 1_000));
    const event = Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [`${"x".repeat(100)}${at}`, values]),
    );
    counts.add(createEvent(0, { event }));
    const text = JSON.stringify(listTopics(counts));
    assert.ok(text.length < 20_000, String(text.length));
    assert.ok(text.isWellFormed());
  });

  it("extrapolate to a day only from an hour or more", () => {
    const counts = new ImpactCounts([{ externalId: "t", before: undefined, after: {} }], {
      maxExamples: 0,
      nameEvent,
    });
    for (let at = 0; at < 10; at += 1) counts.add(createEvent(at, {}));
    const perDay = (...times: readonly number[]) => {
      const { topics, total } = toResult(counts, ...times);
      return [topics[0]?.perDay, total.perDay];
    };
    const daily = { copies: 240, bytes: 24_000 };
    assert.deepEqual(perDay(0, hourMs), [daily, daily]);
    assert.deepEqual(perDay(0, hourMs - 1), [null, null]);
    assert.deepEqual(perDay(), [null, null]);
  });

  it("count a replay only for the topics that it goes to", () => {
    const all = { before: {}, after: { contentQuery: "a=2" } };
    const changes = ["t", "u"].map((externalId) => ({ externalId, ...all }));
    const counts = new ImpactCounts(changes, { maxExamples: 0, nameEvent });
    counts.add(createEvent(0, { event: { a: "2" } }, { only: new Set(["u"]) }));
    counts.add(createEvent(1, { event: { a: "1" } }, { only: new Set(["u"]) }));
    assert.deepEqual(
      listTopics(counts).map(({ newly, noLonger, still }) => [newly, noLonger, still]),
      [
        [0, 0, 0],
        [0, 1, 1],
      ],
    );
  });

  it("take stored filters that are invalid as matching nothing, and reject new ones", () => {
    const broken = { headerQuery: "a=1;b=2" };
    const counts = new ImpactCounts([{ externalId: "t", before: broken, after: {} }], {
      maxExamples: 1,
      nameEvent,
    });
    counts.add(createEvent(0, parseEvent("{}")));
    const [topic] = listTopics(counts);
    assert.deepEqual([topic?.change, topic?.newly], ["widened", 1]);
    assert.throws(
      () => new ImpactCounts([{ externalId: "t", before: {}, after: broken }], { maxExamples: 1, nameEvent }),
      FilterSyntaxError,
    );
  });
});
