import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { RefusalError } from "../../../src/lib/errors.ts";
import type { Announcement } from "../../../src/topics/announcement.ts";
import { decide, type Decision } from "../../../src/topics/decide.ts";
import { getCombination, type Source, type Topic, type TopicDefinition } from "../../../src/topics/topic.ts";
import { newId } from "../../../src/lib/sys-id.ts";
import type { TopicWrites } from "../../../src/topics/snapshot.ts";
import { applyToModel, modelOf, modelWith } from "./model.ts";

const partition = { topic: "announcements", partition: 0 };
const now = new Date("2026-01-02T03:04:05Z");
const before = new Date("2025-01-01T00:00:00Z");

const definition = (externalId: string, combination = externalId): TopicDefinition => ({
  externalId,
  name: combination,
  namespace: "",
  headerQuery: "",
  contentQuery: "",
});
/** The same as what a topic was before. */
const was = (combination: string) => ({
  name: combination,
  ...{ namespace: "", headerQuery: "", contentQuery: "" },
});
const define = (offset: number, externalId: string, combination = externalId): Announcement => ({
  kind: "define",
  offset,
  definition: definition(externalId, combination),
});
const retire = (offset: number, externalId: string): Announcement => ({ kind: "retire", offset, externalId });
const byHttp: Source = { kind: "http", user: "somebody" };
const at = (offset: number, elsewhere = partition): Source => ({
  kind: "announcement",
  ...elsewhere,
  offset,
});
const stored = (externalId: string, source: Source, combination = externalId): Topic => ({
  ...definition(externalId, combination),
  id: newId(),
  source,
  createdOn: before,
  updatedOn: before,
});
const decided = (announcements: Announcement[], topics: Topic[] = []): Decision =>
  decide({ partition, epoch: 1, announcements, stored: topics, now, newId });

const refused = ({ refusals }: Decision): unknown[] =>
  refusals.map(({ offset, refusal }) => [offset, refusal.code]);

describe("deciding one announcement", () => {
  it("creates a new definition, with where it came from", () => {
    const { writes, counts } = decided([define(7, "a")]);
    assert.equal(counts.created, 1);
    const [topic] = writes.created;
    assert.match(topic?.id ?? "", /^[0-9a-f]{32}$/);
    assert.deepEqual(
      { ...topic, id: "" },
      { ...definition("a"), id: "", source: at(7), createdOn: now, updatedOn: now },
    );
  });

  it("writes nothing when the same definition comes again", () => {
    const { writes, counts } = decided([define(9, "a")], [stored("a", at(3))]);
    assert.deepEqual(writes, { removed: [], retired: [], updated: [], created: [] });
    assert.equal(counts.unchanged, 1);
  });

  it("updates a changed definition, keeps the sys_id and the time of creation, and remembers what it was", () => {
    const topic = stored("a", at(3));
    const { writes, counts } = decided([define(9, "a", "other")], [topic]);
    assert.equal(counts.updated, 1);
    const previous = { ...was("a"), source: at(3), updatedOn: before };
    assert.deepEqual(writes.updated, [
      { ...topic, ...definition("a", "other"), source: at(9), updatedOn: now, previous },
    ]);
  });

  it("remembers one step back and no further, also when both changes come in one batch", () => {
    const [topic] = decided([define(9, "a", "y"), define(10, "a", "z")], [stored("a", at(3), "x")]).writes
      .updated;
    assert.deepEqual(topic?.previous, { ...was("y"), source: at(9), updatedOn: now });
  });

  it("leaves a topic alone that already comes from a later offset of the same partition", () => {
    assert.equal(decided([define(9, "a", "other")], [stored("a", at(10))]).counts.unchanged, 1);
    assert.equal(decided([retire(9, "a")], [stored("a", at(10))]).counts.unchanged, 1);
  });

  it("does not compare offsets of different partitions", () => {
    const elsewhere = at(1_000, { topic: "announcements", partition: 1 });
    assert.equal(decided([define(9, "a", "other")], [stored("a", elsewhere)]).counts.updated, 1);
  });

  it("does not compare offsets of a log with those of the log that was there before", () => {
    const announcements = [define(9, "a", "other")];
    const { writes, counts } = decide({
      partition,
      epoch: 2,
      announcements,
      stored: [stored("a", at(1_000))],
      now,
      newId,
    });
    assert.equal(counts.updated, 1);
    assert.deepEqual(writes.updated[0]?.source, { ...at(9), epoch: 2 });
  });

  it("adopts a topic that was created over HTTP with the same definition, which changes nothing of it", () => {
    const topic = stored("a", byHttp);
    const { writes, counts } = decided([define(9, "a")], [topic]);
    assert.equal(counts.adopted, 1);
    assert.deepEqual(writes.updated, [{ ...topic, source: at(9), updatedOn: now }]);
  });

  it("refuses another definition for a topic that was created over HTTP", () => {
    assert.deepEqual(refused(decided([define(9, "a", "other")], [stored("a", byHttp)])), [
      [9, "EXTERNAL_ID_TAKEN"],
    ]);
  });

  it("refuses a combination that another topic holds, and names the holder", () => {
    const decision = decided([define(9, "b", "x")], [stored("a", at(1), "x")]);
    assert.deepEqual(refused(decision), [[9, "DUPLICATE_COMBINATION"]]);
    assert.match(decision.refusals[0]?.refusal.message ?? "", /"a"/);
  });

  it("retires a topic that the channel announced", () => {
    const topic = stored("a", at(3));
    const { writes } = decided([retire(9, "a")], [topic]);
    assert.deepEqual(writes.removed, [topic]);
    assert.deepEqual(writes.retired, [{ topic, retiredOn: now, retiredBy: at(9) }]);
  });

  it("does nothing for a tombstone of an unknown topic", () => {
    assert.equal(decided([retire(9, "a")]).counts.unchanged, 1);
  });

  it("refuses a tombstone for a topic that was created over HTTP", () => {
    assert.deepEqual(refused(decided([retire(9, "a")], [stored("a", byHttp)])), [[9, "EXTERNAL_ID_TAKEN"]]);
  });

  it("passes on why a record could not be used", () => {
    const refusal = new RefusalError("MALFORMED_JSON", "no JSON");
    assert.deepEqual(decided([{ kind: "unusable", offset: 4, refusal }]).refusals, [{ offset: 4, refusal }]);
  });
});

describe("deciding a batch", () => {
  it("writes a topic that is announced three times once, as it is in the end", () => {
    const { writes } = decided([define(1, "a", "x"), define(2, "a", "y"), define(3, "a", "z")]);
    const previous = { ...definition("a", "y"), owner: "channel", offset: 2 };
    assert.deepEqual(writes.created.map(modelOf), [
      { ...definition("a", "z"), owner: "channel", offset: 3, previous },
    ]);
    assert.equal(writes.updated.length, 0);
  });

  it("lets a topic take the combination that another gave up before, and not the other way round", () => {
    const topics = [stored("a", at(1), "x"), stored("b", at(2), "y")];
    const inOrder = decided([define(3, "a", "z"), define(4, "b", "x")], topics);
    assert.deepEqual(
      inOrder.writes.updated.map(({ externalId }) => externalId),
      ["a", "b"],
    );
    const tooEarly = decided([define(3, "b", "x"), define(4, "a", "z")], topics);
    assert.deepEqual(refused(tooEarly), [[3, "DUPLICATE_COMBINATION"]]);
  });

  it("exchanges the combinations of two topics by way of a third", () => {
    const topics = [stored("a", at(1), "x"), stored("b", at(2), "y")];
    const { writes, refusals } = decided(
      [define(3, "a", "z"), define(4, "b", "x"), define(5, "a", "y")],
      topics,
    );
    assert.equal(refusals.length, 0);
    assert.deepEqual([writes.removed.length, writes.updated.length, writes.created.length], [1, 1, 1]);
  });

  it("creates anew what it retires in the same batch, under another sys_id", () => {
    const topic = stored("a", at(1));
    const { writes } = decided([retire(2, "a"), define(3, "a")], [topic]);
    assert.deepEqual(writes.removed, [topic]);
    assert.notEqual(writes.created[0]?.id, topic.id);
  });

  it("keeps a topic that came and went within the batch among the retired ones only", () => {
    const { writes } = decided([define(1, "a"), retire(2, "a")]);
    assert.deepEqual([writes.created.length, writes.removed.length, writes.retired.length], [0, 0, 1]);
  });

  it("refuses a combination whose holder retires later in the batch", () => {
    const decision = decided([define(2, "b", "x"), retire(3, "a")], [stored("a", at(1), "x")]);
    assert.deepEqual(refused(decision), [[2, "DUPLICATE_COMBINATION"]]);
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
          stored(id, offset < 0 ? byHttp : at(offset), combination),
        ),
      ),
    announcements: fc.array(announcement, { maxLength: 20 }).map((list) =>
      list.map((one, index): Announcement => {
        const offset = 10 + index;
        if (one.kind === "define") return define(offset, one.id, one.combination);
        if (one.kind === "retire") return retire(offset, one.id);
        return { kind: "unusable", offset, refusal: new RefusalError("MALFORMED_JSON", "no JSON") };
      }),
    ),
  });

  it("comes out as one announcement after another does, without a unique index objecting on the way", () => {
    fc.assert(
      fc.property(situation, ({ topics, announcements }) => {
        const model = modelWith(topics.map(modelOf));
        applyToModel(model, announcements);
        const decision = decided(announcements, topics);
        const after = written(topics, decision.writes);
        assert.deepEqual(sorted(after.map(modelOf)), sorted([...model.topics.values()]));
        assert.deepEqual(
          decision.writes.retired.map(({ topic, retiredBy }) => ({
            topic: modelOf(topic),
            offset: retiredBy.kind === "announcement" ? retiredBy.offset : undefined,
          })),
          model.retired,
        );
        assert.deepEqual(
          decision.refusals.map(({ offset, refusal }) => ({ offset, code: refusal.code })),
          model.refused,
        );
      }),
      { numRuns: 3_000 },
    );
  });

  it("is the same whether it is applied in one batch or cut in two anywhere", () => {
    fc.assert(
      fc.property(situation, fc.nat(20), ({ topics, announcements }, cut) => {
        const whole = written(topics, decided(announcements, topics).writes);
        const half = written(topics, decided(announcements.slice(0, cut), topics).writes);
        const both = written(half, decided(announcements.slice(cut), half).writes);
        assert.deepEqual(sorted(both.map(modelOf)), sorted(whole.map(modelOf)));
      }),
      { numRuns: 1_000 },
    );
  });

  it("touches each stored topic at most once, unless it is taken out and put back", () => {
    fc.assert(
      fc.property(situation, ({ topics, announcements }) => {
        const { removed, updated, created } = decided(announcements, topics).writes;
        const changed = [...removed, ...updated].map(({ id }) => id);
        assert.equal(new Set(changed).size, changed.length);
        const put = [...updated, ...created].map(({ id }) => id);
        assert.equal(new Set(put).size, put.length);
      }),
    );
  });
});

/** Carries writes out as a store with two unique indexes does: one at a time, each checked. */
function written(topics: readonly Topic[], { removed, updated, created }: TopicWrites): Topic[] {
  const table = new Map(topics.map((topic) => [topic.id, topic]));
  const put = (topic: Topic): void => {
    for (const other of table.values()) {
      if (other.id === topic.id) continue;
      assert.notEqual(other.externalId, topic.externalId, "the index of external ids objects");
      assert.notEqual(getCombination(other), getCombination(topic), "the index of combinations objects");
    }
    table.set(topic.id, topic);
  };
  for (const { id } of removed) assert.ok(table.delete(id), "removes only what is stored");
  for (const topic of updated) {
    assert.ok(table.has(topic.id), "updates only what is stored");
    put(topic);
  }
  created.forEach(put);
  return [...table.values()];
}

const sorted = <T extends { externalId: string }>(topics: T[]): T[] =>
  topics.toSorted((a, b) => a.externalId.localeCompare(b.externalId));
