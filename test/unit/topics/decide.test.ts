import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { RejectionError } from "@topicsync/lib/errors";
import { newId } from "@topicsync/lib/sys-id";
import type { Announcement } from "../../../src/topics/announcement.ts";
import { decide, type Decision } from "../../../src/topics/decide.ts";
import type { Source, Topic } from "../../../src/topics/topic.ts";
import { noWrites } from "../../../src/topics/snapshot.ts";
import { applyWrites } from "./apply-writes.ts";
import { applyToModel, createDefinition, createModel, sortById, toModelTopic } from "./model.ts";

const partition = { topic: "announcements", partition: 0 };
const now = new Date("2026-01-02T03:04:05Z");
const before = new Date("2025-01-01T00:00:00Z");

/** The previous definition of a topic. */
const toPrevious = (combination: string) => ({
  name: combination,
  namespace: "",
  headerQuery: "",
  contentQuery: "",
});
const define = (offset: number, externalId: string, combination = externalId): Announcement => ({
  kind: "define",
  offset,
  definition: createDefinition(externalId, combination),
});
const retire = (offset: number, externalId: string): Announcement => ({ kind: "retire", offset, externalId });
const byHttp: Source = { kind: "http", user: "somebody" };
const createSource = (offset: number, elsewhere = partition): Source => ({
  kind: "announcement",
  ...elsewhere,
  offset,
});
const createStored = (externalId: string, source: Source, combination = externalId): Topic => ({
  ...createDefinition(externalId, combination),
  id: newId(),
  source,
  version: 1,
  createdOn: before,
  updatedOn: before,
});
const decideBatch = (announcements: Announcement[], topics: Topic[] = []): Decision =>
  decide({ partition, epoch: 1, announcements, stored: topics, now, newId });

const toRejections = ({ rejections }: Decision): unknown[] =>
  rejections.map(({ offset, rejection }) => [offset, rejection.code]);

describe("deciding one announcement", () => {
  it("creates a new topic with its source", () => {
    const { writes, counts } = decideBatch([define(7, "a")]);
    assert.equal(counts.created, 1);
    const [topic] = writes.created;
    assert.match(topic?.id ?? "", /^[0-9a-f]{32}$/);
    assert.deepEqual(
      { ...topic, id: "" },
      {
        ...createDefinition("a"),
        id: "",
        version: 1,
        source: createSource(7),
        createdOn: now,
        updatedOn: now,
      },
    );
  });

  it("writes nothing for an unchanged definition", () => {
    const { writes, counts } = decideBatch([define(9, "a")], [createStored("a", createSource(3))]);
    assert.deepEqual(writes, noWrites);
    assert.equal(counts.unchanged, 1);
  });

  it("makes the update later than the stored version, also if the clock of this process is behind", () => {
    const later = new Date(now.getTime() + 5_000);
    const topic = { ...createStored("a", createSource(3)), updatedOn: later };
    const { writes } = decideBatch([define(9, "a", "b"), define(10, "a", "c")], [topic]);
    assert.deepEqual(
      writes.updated.map(({ updatedOn }) => updatedOn.getTime() - later.getTime()),
      [1],
    );
  });

  it("updates a changed definition, and keeps the sys_id, the time of creation and the previous definition", () => {
    const topic = createStored("a", createSource(3));
    const { writes, counts } = decideBatch([define(9, "a", "other")], [topic]);
    assert.equal(counts.updated, 1);
    const previous = { ...toPrevious("a"), source: createSource(3), updatedOn: before };
    assert.deepEqual(writes.updated, [
      {
        ...{ ...topic, ...createDefinition("a", "other"), version: 2, source: createSource(9) },
        updatedOn: now,
        previous,
      },
    ]);
    const endedBy = createSource(9);
    assert.deepEqual(writes.replaced, [
      { topic, endedBy, endedOn: now, action: "changed", isTransient: false },
    ]);
  });

  it("keeps one previous definition only, also if both changes are in one batch", () => {
    const [topic] = decideBatch(
      [define(9, "a", "y"), define(10, "a", "z")],
      [createStored("a", createSource(3), "x")],
    ).writes.updated;
    assert.deepEqual(topic?.previous, { ...toPrevious("y"), source: createSource(9), updatedOn: now });
  });

  it("does not change a topic that comes from a later offset of the same partition", () => {
    assert.equal(
      decideBatch([define(9, "a", "other")], [createStored("a", createSource(10))]).counts.unchanged,
      1,
    );
    assert.equal(decideBatch([retire(9, "a")], [createStored("a", createSource(10))]).counts.unchanged, 1);
  });

  it("does not compare offsets of different partitions", () => {
    const elsewhere = createSource(1_000, { topic: "announcements", partition: 1 });
    assert.equal(decideBatch([define(9, "a", "other")], [createStored("a", elsewhere)]).counts.updated, 1);
  });

  it("does not compare offsets of different epochs", () => {
    const announcements = [define(9, "a", "other")];
    const { writes, counts } = decide({
      partition,
      epoch: 2,
      announcements,
      stored: [createStored("a", createSource(1_000))],
      now,
      newId,
    });
    assert.equal(counts.updated, 1);
    assert.deepEqual(writes.updated[0]?.source, { ...createSource(9), epoch: 2 });
  });

  it("adopts a topic that was created over HTTP with the same definition", () => {
    const topic = createStored("a", byHttp);
    const { writes, counts } = decideBatch([define(9, "a")], [topic]);
    assert.equal(counts.adopted, 1);
    assert.deepEqual(writes.updated, [{ ...topic, version: 2, source: createSource(9), updatedOn: now }]);
    assert.deepEqual(
      writes.replaced.map(({ topic: { version }, action }) => [version, action]),
      [[1, "adopted"]],
    );
  });

  it("rejects another definition for a topic that was created over HTTP", () => {
    assert.deepEqual(toRejections(decideBatch([define(9, "a", "other")], [createStored("a", byHttp)])), [
      [9, "EXTERNAL_ID_TAKEN"],
    ]);
  });

  it("rejects a combination that another topic holds, and names the holder", () => {
    const decision = decideBatch([define(9, "b", "x")], [createStored("a", createSource(1), "x")]);
    assert.deepEqual(toRejections(decision), [[9, "DUPLICATE_COMBINATION"]]);
    assert.match(decision.rejections[0]?.rejection.message ?? "", /"a"/);
  });

  it("retires an announced topic", () => {
    const topic = createStored("a", createSource(3));
    const { writes } = decideBatch([retire(9, "a")], [topic]);
    assert.deepEqual(writes.removed, [topic]);
    assert.deepEqual(writes.retired, [{ topic, retiredOn: now, retiredBy: createSource(9) }]);
  });

  it("does nothing for a tombstone of an unknown topic", () => {
    const { counts, unknown } = decideBatch(
      [retire(9, '"a"'), retire(10, "a")],
      [createStored("a", createSource(1))],
    );
    assert.deepEqual([counts.unchanged, counts.retired, unknown], [1, 1, ['"a"']]);
  });

  it("rejects a tombstone for a topic that was created over HTTP", () => {
    assert.deepEqual(toRejections(decideBatch([retire(9, "a")], [createStored("a", byHttp)])), [
      [9, "EXTERNAL_ID_TAKEN"],
    ]);
  });

  it("passes on why a record is unusable", () => {
    const rejection = new RejectionError("MALFORMED_JSON", "no JSON");
    assert.deepEqual(decideBatch([{ kind: "unusable", offset: 4, rejection }]).rejections, [
      { offset: 4, rejection },
    ]);
  });
});

describe("deciding a batch", () => {
  it("writes a topic that is announced three times once, in its last version", () => {
    const { writes } = decideBatch([define(1, "a", "x"), define(2, "a", "y"), define(3, "a", "z")]);
    const previous = { ...createDefinition("a", "y"), owner: "channel", offset: 2 };
    assert.deepEqual(writes.created.map(toModelTopic), [
      { ...createDefinition("a", "z"), owner: "channel", offset: 3, previous },
    ]);
    assert.equal(writes.updated.length, 0);
  });

  it("lets a topic take a combination that another gave up before, but not after", () => {
    const topics = [createStored("a", createSource(1), "x"), createStored("b", createSource(2), "y")];
    const inOrder = decideBatch([define(3, "a", "z"), define(4, "b", "x")], topics);
    assert.deepEqual(
      inOrder.writes.updated.map(({ externalId }) => externalId),
      ["a", "b"],
    );
    const tooEarly = decideBatch([define(3, "b", "x"), define(4, "a", "z")], topics);
    assert.deepEqual(toRejections(tooEarly), [[3, "DUPLICATE_COMBINATION"]]);
  });

  it("exchanges the combinations of two topics through a third", () => {
    const topics = [createStored("a", createSource(1), "x"), createStored("b", createSource(2), "y")];
    const { writes, rejections } = decideBatch(
      [define(3, "a", "z"), define(4, "b", "x"), define(5, "a", "y")],
      topics,
    );
    assert.equal(rejections.length, 0);
    assert.deepEqual([writes.removed.length, writes.updated.length, writes.created.length], [1, 1, 1]);
  });

  it("creates a topic that it retires in the same batch again, under another sys_id", () => {
    const topic = createStored("a", createSource(1));
    const { writes } = decideBatch([retire(2, "a"), define(3, "a")], [topic]);
    assert.deepEqual(writes.removed, [topic]);
    assert.notEqual(writes.created[0]?.id, topic.id);
  });

  it("stores a topic that is created and retired in one batch as retired only", () => {
    const { writes } = decideBatch([define(1, "a"), retire(2, "a")]);
    assert.deepEqual([writes.created.length, writes.removed.length, writes.retired.length], [0, 0, 1]);
  });

  it("rejects a combination whose holder is retired later in the batch", () => {
    const decision = decideBatch(
      [define(2, "b", "x"), retire(3, "a")],
      [createStored("a", createSource(1), "x")],
    );
    assert.deepEqual(toRejections(decision), [[2, "DUPLICATE_COMBINATION"]]);
    assert.equal(decision.counts.retired, 1);
  });
});

describe("deciding any batch over any stored topics", () => {
  const ids = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const combinations = fc.constantFrom("u", "v", "w", "x", "y", "z");
  const announcement = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant("define" as const), id: ids, combination: combinations }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("retire" as const), id: ids }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("unusable" as const) }) },
  );
  const situation = fc.record({
    topics: fc
      .uniqueArray(
        fc.record({ id: ids, combination: combinations, offset: fc.integer({ min: -1, max: 30 }) }),
        {
          selector: ({ id }) => id,
        },
      )
      .map((topics) =>
        topics.filter((one, i) => topics.findIndex((other) => other.combination === one.combination) === i),
      )
      .map((topics) =>
        topics.map(({ id, combination, offset }) =>
          createStored(id, offset < 0 ? byHttp : createSource(offset), combination),
        ),
      ),
    announcements: fc.array(announcement, { maxLength: 20 }).map((list) =>
      list.map((one, index): Announcement => {
        const offset = 10 + index;
        if (one.kind === "define") return define(offset, one.id, one.combination);
        if (one.kind === "retire") return retire(offset, one.id);
        return { kind: "unusable", offset, rejection: new RejectionError("MALFORMED_JSON", "no JSON") };
      }),
    ),
  });

  it("has the result of one announcement after another, and violates no unique index", () => {
    fc.assert(
      fc.property(situation, ({ topics, announcements }) => {
        const model = createModel(topics.map(toModelTopic));
        applyToModel(model, announcements);
        const decision = decideBatch(announcements, topics);
        const after = applyWrites(topics, decision.writes);
        assert.deepEqual(sortById(after.map(toModelTopic)), sortById([...model.topics.values()]));
        assert.deepEqual(
          decision.writes.retired.map(({ topic, retiredBy }) => ({
            topic: toModelTopic(topic),
            offset: retiredBy.kind === "announcement" ? retiredBy.offset : undefined,
          })),
          model.retired,
        );
        assert.deepEqual(
          decision.rejections.map(({ offset, rejection }) => ({ offset, code: rejection.code })),
          model.rejected,
        );
      }),
      { numRuns: 3_000 },
    );
  });

  it("has the same result in one batch or split in two anywhere", () => {
    fc.assert(
      fc.property(situation, fc.nat(20), ({ topics, announcements }, cut) => {
        const whole = applyWrites(topics, decideBatch(announcements, topics).writes);
        const half = applyWrites(topics, decideBatch(announcements.slice(0, cut), topics).writes);
        const both = applyWrites(half, decideBatch(announcements.slice(cut), half).writes);
        assert.deepEqual(sortById(both.map(toModelTopic)), sortById(whole.map(toModelTopic)));
      }),
      { numRuns: 1_000 },
    );
  });

  it("has the same history in one batch or split in two anywhere", () => {
    const formatAll = (...decisions: readonly Decision[]): string[] =>
      decisions
        .flatMap(({ writes }) => writes.replaced)
        .map(({ topic, endedBy, action }) =>
          JSON.stringify([topic.externalId, topic.version, topic.name, topic.source, endedBy, action]),
        );
    fc.assert(
      fc.property(situation, fc.nat(20), ({ topics, announcements }, cut) => {
        const first = decideBatch(announcements.slice(0, cut), topics);
        const half = applyWrites(topics, first.writes);
        const second = decideBatch(announcements.slice(cut), half);
        assert.deepEqual(formatAll(first, second), formatAll(decideBatch(announcements, topics)));
      }),
      { numRuns: 1_000 },
    );
  });

  it("numbers versions without gaps, and replaces each once", () => {
    fc.assert(
      fc.property(situation, ({ topics, announcements }) => {
        const { writes } = decideBatch(announcements, topics);
        const replaced = Map.groupBy(writes.replaced, ({ topic }) => topic.id);
        const last = [...applyWrites(topics, writes), ...writes.retired.map(({ topic }) => topic)];
        for (const { id, version, updatedOn } of last) {
          const versions = replaced.get(id) ?? [];
          assert.deepEqual(
            versions.map(({ topic }) => topic.version),
            Array.from({ length: version - 1 }, (_, i) => i + 1),
          );
          // Visible versions follow each other; the others have no length.
          const stored = topics.find((one) => one.id === id);
          assert.deepEqual(
            versions.filter(({ isTransient }) => !isTransient).map(({ topic }) => topic),
            stored === undefined || versions.length === 0 ? [] : [stored],
          );
          assert.ok(versions.every(({ endedOn }) => endedOn.getTime() === updatedOn.getTime()));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("writes each stored topic at most once, unless it is removed and inserted again", () => {
    fc.assert(
      fc.property(situation, ({ topics, announcements }) => {
        const { removed, updated, created } = decideBatch(announcements, topics).writes;
        const changed = [...removed, ...updated].map(({ id }) => id);
        assert.equal(new Set(changed).size, changed.length);
        const put = [...updated, ...created].map(({ id }) => id);
        assert.equal(new Set(put).size, put.length);
      }),
    );
  });
});
