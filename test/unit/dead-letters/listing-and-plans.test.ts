import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { readPage, type ListSources } from "../../../src/dead-letters/listing.ts";
import { planReplay, type PlanOptions } from "../../../src/dead-letters/replay-plan.ts";
import { noTopicStates } from "../../../src/dead-letters/topic-states.ts";
import {
  summarize,
  type DeadLetterSummary,
  type StoredDeadLetter,
} from "../../../src/dead-letters/summary.ts";
import type { Replay } from "../../../src/dead-letters/stores.ts";

const any = summarize(
  "dead",
  { partition: 0, record: { offset: 0, timestamp: "0", key: null, value: null, headers: [] } },
  { identify: () => undefined, proofKey: "any", findNamespace: () => undefined, rank: 0 },
);

const createLetter = (offset: number, more: Partial<DeadLetterSummary> = {}): StoredDeadLetter => ({
  ...any,
  ...{
    id: `in-0-${offset}`,
    code: "KEY_MISMATCH",
    copies: 1,
    rank: offset,
    position: { ...any.position, offset },
  },
  source: { topic: "in", partition: 0, offset },
  ...more,
});

const createReplay = (deadLetterId: string, attempt = 1): Replay => ({
  ...{ deadLetterId, attempt, startedAt: new Date(attempt), state: "sent" },
  sentTo: { topic: "in", partition: 0, offset: 100 + attempt },
});

/** Dead letters in memory, the newest first, of which some were replayed. */
function createSources(letters: readonly StoredDeadLetter[], replays: readonly Replay[]): ListSources {
  return {
    positions: [{ topic: "in", partition: 0, offset: 102, epoch: 1 }],
    replays: { find: (ids) => Promise.resolve(replays.filter((one) => ids.includes(one.deadLetterId))) },
    letters: {
      find: (ids) => Promise.resolve(letters.filter(({ id }) => ids.includes(id))),
      async *stream(_, { after, batchSize, limit }) {
        await Promise.resolve();
        const left = letters.filter(({ rank }) => after === undefined || rank < after.rank).slice(0, limit);
        for (; left.length > 0;) yield left.splice(0, batchSize);
      },
    },
  };
}

async function readPages(sources: ListSources, replayed: boolean | undefined, limit: number) {
  const pages: string[][] = [];
  let after: string | undefined;
  do {
    const page = await readPage({ filter: { namespaces: "all" }, replayed, limit, after }, sources);
    pages.push(page.deadLetters.map(({ id }) => id));
    after = page.next ?? undefined;
  } while (after !== undefined);
  return pages;
}

describe("the pages of dead letters", () => {
  it("have together what one page has, whether or not only replayed ones are wanted", async () => {
    const lists = fc.array(fc.boolean(), { maxLength: 12 });
    const wanted = fc.constantFrom(undefined, true, false);
    await fc.assert(
      fc.asyncProperty(lists, wanted, fc.integer({ min: 1, max: 5 }), async (all, replayed, limit) => {
        const letters = all.map((_, at) => createLetter(all.length - at));
        const replays = letters.filter((_, at) => all[at]).map(({ id }) => createReplay(id));
        const expected = letters.filter((_, at) => replayed === undefined || replayed === all[at]);
        const pages = await readPages(createSources(letters, replays), replayed, limit);
        assert.deepEqual(
          pages.flat(),
          expected.map(({ id }) => id),
        );
        assert.ok(pages.every(({ length }) => length <= limit));
        if (replayed === undefined) assert.equal(pages.length, Math.max(1, Math.ceil(all.length / limit)));
      }),
    );
  });

  it("end early where almost none was replayed", async () => {
    const letters = Array.from({ length: 10_002 }, (_, at) => createLetter(20_000 - at));
    const last = letters.at(-1)?.id ?? "";
    assert.deepEqual(await readPages(createSources(letters, [createReplay(last)]), true, 1), [[], [last]]);
  });

  it("show the last replay of each", async () => {
    const letter = createLetter(1);
    const sources = createSources([letter], [createReplay(letter.id, 1), createReplay(letter.id, 2)]);
    const { deadLetters } = await readPage({ filter: { namespaces: "all" }, limit: 1 }, sources);
    assert.partialDeepStrictEqual(deadLetters[0]?.replay, {
      ...{ replayedAt: new Date(2).toISOString(), outcome: { status: "pending" } },
    });
  });
});

describe("the summary of a dead letter", () => {
  const summarizeAny = (timestamp: string, rank: number): DeadLetterSummary =>
    summarize(
      "dead",
      { partition: 0, record: { offset: 0, timestamp, key: null, value: null, headers: [] } },
      { identify: () => undefined, proofKey: "any", findNamespace: () => "space", rank },
    );

  it("has the latest time so far as its rank, so that those of a partition keep their order", () => {
    const ranks = [summarizeAny("5", 3), summarizeAny("5", 7), summarizeAny("-1", 7)].map(({ rank }) => rank);
    assert.deepEqual(ranks, [5, 7, 7]);
  });

  it("believes no namespace that another program claims", () => {
    const { code, namespace } = summarizeAny("5", 0);
    assert.deepEqual([code, namespace], ["OTHER", undefined]);
  });
});

describe("the plan of a replay", () => {
  const plan = async (letters: readonly DeadLetterSummary[], options: Partial<PlanOptions> = {}) => {
    const { send, skipped } = await planReplay(letters, {
      ...{ topic: "in", partitions: 2, states: noTopicStates, again: false, force: false, others: false },
      findReplays: () => Promise.resolve(new Map()),
      findForeign: () => Promise.resolve(new Set()),
      ...options,
    });
    return {
      sent: send.map(({ id, partition, attempt }) => `${id} ${partition} ${attempt}`),
      skipped: skipped.map(({ id, reason }) => `${id} ${reason}`),
    };
  };
  const states = (...externalIds: string[]): PlanOptions["states"] => ({
    ...noTopicStates,
    find: (ids) =>
      Promise.resolve(
        externalIds
          .filter((id) => ids.includes(id))
          .map((externalId) => ({
            ...{ externalId, retired: false, order: { offset: 50 } },
            by: { kind: "announcement", topic: "in", partition: 0, offset: 50 },
          })),
      ),
  });

  it("sends to the partition it came from, in the order of the source", async () => {
    const letters = [
      createLetter(3),
      createLetter(2, { source: { topic: "in", partition: 5, offset: 9 } }),
      createLetter(1, { source: { topic: "other", partition: 0, offset: 9 } }),
      createLetter(9, { id: "first", source: { topic: "in", partition: 1, offset: 0 } }),
      createLetter(0, { id: "later", source: { topic: "in", partition: 0, offset: 0, epoch: 2 } }),
    ];
    const { sent, skipped } = await plan(letters);
    assert.deepEqual(sent, [
      "first 1 1",
      "in-0-1 undefined 1",
      "in-0-2 undefined 1",
      "in-0-3 0 1",
      "later 0 1",
    ]);
    assert.deepEqual(skipped, []);
  });

  it("leaves out what is omitted, forbidden, replayed or superseded, in this order", async () => {
    const letters = [
      createLetter(1, { omitted: "too large", code: "OTHER" }),
      createLetter(2, { code: "OTHER" }),
      createLetter(3, { externalId: "foreign" }),
      createLetter(4, { externalId: "later" }),
      createLetter(5, { externalId: "later" }),
      createLetter(6, { externalId: "fine" }),
    ];
    const replay = { ...createReplay("in-0-4", 3), outcome: { status: "pending" as const } };
    const options = {
      findReplays: (ids: readonly string[]) =>
        Promise.resolve(new Map(ids.includes("in-0-4") ? [["in-0-4", [replay]]] : [])),
      findForeign: (ids: readonly string[]) => Promise.resolve(new Set(ids.filter((id) => id === "foreign"))),
      states: states("later", "foreign"),
    };
    assert.deepEqual(await plan(letters, options), {
      sent: ["in-0-6 0 1"],
      skipped: [
        ...["in-0-1 omitted", "in-0-2 forbidden", "in-0-3 forbidden", "in-0-4 replayed", "in-0-5 superseded"],
      ],
    });
    const all = { ...options, again: true, force: true, others: true };
    assert.deepEqual(await plan(letters, all), {
      sent: ["in-0-2 0 1", "in-0-4 0 4", "in-0-5 0 1", "in-0-6 0 1"],
      skipped: ["in-0-1 omitted", "in-0-3 forbidden"],
    });
    const [omitted, other, foreign] = ["in-0-1 omitted", "in-0-2 forbidden", "in-0-3 forbidden"];
    const first = [omitted, other, foreign];
    const list = async (more: Partial<PlanOptions>) => (await plan(letters, { ...options, ...more })).skipped;
    assert.deepEqual(await list({ again: true }), [...first, "in-0-4 superseded", "in-0-5 superseded"]);
    assert.deepEqual(await list({ force: true }), [...first, "in-0-4 replayed"]);
    assert.deepEqual(await list({ others: true }), [
      omitted,
      foreign,
      "in-0-4 replayed",
      "in-0-5 superseded",
    ]);
  });
});
