import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { maxPageBytes } from "@topicsync/lib/page-bytes";
import { noDetails, toNextDetails, type StoredDetails } from "../../../src/topics/details/details.ts";
import {
  readHistoryPage,
  readPageAt,
  streamTopicsAt,
  toDescriptionSortKey,
  toVersionSortKey,
  type HistoryEntry,
  type TopicHistory,
  type TopicVersion,
} from "../../../src/topics/history.ts";
import { createDefinition } from "./model.ts";

const by = { kind: "http", user: "ann" } as const;

/** Each step takes some milliseconds, and changes the topic or its details. No time: within one batch. */
interface Step {
  readonly took: number;
  readonly isDescription: boolean;
}

const steps = fc.array(fc.record({ took: fc.nat(2), isDescription: fc.boolean() }), { maxLength: 30 });

/** What the steps leave, the latest first: an entry that is stored later comes first. */
function createEntries(all: readonly Step[], name = "a"): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  let [at, last] = [0, -1];
  let details: StoredDetails | undefined;
  const versions: TopicVersion[] = [];
  for (const { took, isDescription } of all) {
    // Descriptions always have a time of their own.
    at += isDescription || at === last ? Math.max(took, 1) : took;
    const on = new Date(at);
    if (isDescription) {
      last = at;
      const topic = createDefinition("a");
      const next = toNextDetails(details, {
        topic,
        details: { ...noDetails, owner: `${at}` },
        by: "ann",
        at: on,
      });
      entries.push({ details: next, before: details });
      details = next;
      continue;
    }
    const before = versions.pop();
    if (before !== undefined) {
      const ended = { ...before, ended: { on, by, as: "changed" as const } };
      entries[entries.indexOf(before)] = ended;
    }
    const topic = {
      ...{ ...createDefinition("a", name), id: "1", version: (before?.topic.version ?? 0) + 1, source: by },
      ...{ createdOn: on, updatedOn: on },
    };
    const version: TopicVersion = { topic, ended: undefined, isTransient: false };
    versions.push(version);
    entries.push(version);
  }
  return entries.toReversed();
}

/** A history in memory, whose lists end after a sort key. */
function createHistory(
  entries: readonly HistoryEntry[],
): Pick<TopicHistory, "readVersions" | "readDescriptions"> {
  const read = <E extends HistoryEntry>(
    all: readonly E[],
    toKey: (entry: E) => readonly unknown[],
    { after, limit }: { readonly after: readonly unknown[] | undefined; readonly limit: number },
  ): Promise<E[]> => {
    const place = after && all.findIndex((one) => JSON.stringify(toKey(one)) === JSON.stringify(after));
    if (place === -1) assert.ok(Number(after?.[0]) > Date.UTC(9000, 0), "the key is that of no entry");
    const from = place === undefined || place === -1 ? 0 : place + 1;
    return Promise.resolve(all.slice(from, from + limit));
  };
  const versions = entries.filter((one) => "topic" in one);
  const descriptions = entries.filter((one) => "details" in one);
  return {
    readVersions: (_, from) => read(versions, toVersionSortKey, from),
    readDescriptions: (_, from) => read(descriptions, (one) => toDescriptionSortKey(one.details), from),
  };
}

/** Reads the pages of a list. */
async function readPages<E>(
  readPage: (
    after: string | undefined,
  ) => Promise<{ readonly some: readonly E[]; readonly next: string | undefined }>,
): Promise<(readonly E[])[]> {
  const pages: (readonly E[])[] = [];
  let after: string | undefined;
  do {
    const { some, next } = await readPage(after);
    pages.push(some);
    after = next;
    assert.ok(pages.length < 1_000, "the pages do not end");
  } while (after !== undefined);
  return pages;
}

const readHistory = (entries: readonly HistoryEntry[], limit: number) =>
  readPages(async (after) => {
    const page = await readHistoryPage(createHistory(entries), "a", { namespaces: "all", after, limit });
    return { some: page.entries, next: page.next };
  });

describe("the pages of a history", () => {
  it("have together what was stored, the latest first, and are full except for the last one", async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 8 }), async (all, limit) => {
        const entries = createEntries(all);
        const pages = await readHistory(entries, limit);
        assert.deepEqual(pages.flat(), entries);
        assert.equal(pages.length, Math.max(1, Math.ceil(entries.length / limit)));
      }),
    );
  });

  it("may be longer than what is read at a time", async () => {
    const entries = createEntries(
      Array.from({ length: 450 }, (_, at) => ({ took: 1, isDescription: at % 3 === 0 })),
    );
    const pages = await readHistory(entries, 250);
    assert.deepEqual(pages.flat(), entries);
    assert.deepEqual(
      pages.map(({ length }) => length),
      [250, 200],
    );
  });

  it("end early if their entries are large", async () => {
    const all = Array.from({ length: 210 }, () => ({ took: 1, isDescription: false }));
    const entries = createEntries(all, "n".repeat(maxPageBytes / 150));
    const pages = await readHistory(entries, 1_000);
    assert.deepEqual(
      pages.map(({ length }) => length),
      [200, 10],
    );
    assert.deepEqual(pages.flat(), entries);
  });
});

describe("the topics at a time", () => {
  const at = new Date(5);
  const all = createEntries(Array.from({ length: 7 }, () => ({ took: 1, isDescription: false })))
    .filter((one) => "topic" in one)
    .map((one, i) => ({ ...one, topic: { ...one.topic, externalId: `t${i}` } }));
  const createReader = (maxLimit: number): Pick<TopicHistory, "readAt"> => ({
    readAt(time, query, { after = "", limit }) {
      assert.deepEqual([time, query], [at, { namespaces: "all" }]);
      const left = all.filter(({ topic }) => topic.externalId > after);
      const versions = left.slice(0, Math.min(limit, maxLimit));
      const next = versions.length < left.length ? versions.at(-1)?.topic.externalId : undefined;
      return Promise.resolve({ versions, next });
    },
  });

  it("are the same in pages of any size, and in a stream", async () => {
    for (const limit of [1, 3, 7, 100]) {
      const pages = await readPages(async (after) => {
        const { versions, next } = await readPageAt(
          createReader(100),
          at,
          { namespaces: "all" },
          { after, limit },
        );
        return { some: versions, next };
      });
      assert.deepEqual(pages.flat(), all);
      assert.equal(pages.length, Math.ceil(all.length / limit));
    }
    const streamed: TopicVersion[] = [];
    for await (const one of streamTopicsAt(createReader(3), at, { namespaces: "all" })) streamed.push(one);
    assert.deepEqual(streamed, all);
  });
});
