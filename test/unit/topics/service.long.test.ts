import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { FencedError } from "@topicsync/kafka";
import { createTopicStore } from "../../../src/storage/topics/topics.ts";
import type { Announcement } from "../../../src/topics/announcement.ts";
import type { Decision } from "../../../src/topics/decide.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import { connectDatabase } from "../../support/database.ts";
import { applyAnnouncements } from "../../support/apply-batch.ts";
import { unique } from "../../support/names.ts";
import {
  applyToModel,
  createDefinition,
  createModel,
  putInModel,
  sortById,
  toModelTopic,
  type Model,
} from "./model.ts";

const { db, database, log } = await connectDatabase();
const store = createTopicStore(database, log, { historyRetentionDays: undefined });

const ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
const names = ["u", "v", "w", "x", "y", "z"];

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("define" as const),
      id: fc.constantFrom(...ids),
      name: fc.constantFrom(...names),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("retire" as const), id: fc.constantFrom(...ids) }) },
);
/** Before a batch, a topic may be created over HTTP. */
const byHand = fc.option(fc.record({ id: fc.constantFrom(...ids), name: fc.constantFrom(...names) }), {
  freq: 3,
});
const scenario = fc.array(fc.record({ byHand, steps: fc.array(step, { minLength: 1, maxLength: 6 }) }), {
  minLength: 1,
  maxLength: 8,
});

describe("applying batches to a real store", () => {
  it("sends no dead letter for a fenced consumer", async () => {
    await db.collection("svc_api_notif_mgmt_topic").deleteMany({});
    const key = { group: unique("group"), topic: "announcements", partition: 0 };
    await store.claim(key);
    const letters: number[] = [];
    const apply = (announcements: Announcement[]) =>
      applyAnnouncements({
        store,
        key,
        from: undefined,
        to: { offset: announcements.length, epoch: 1 },
        announcements,
        onLetter: ({ offset }) => letters.push(offset),
      });
    const first: Announcement = { kind: "define", offset: 0, definition: createDefinition("a", "x") };
    await apply([
      first,
      { kind: "retire", offset: 1, externalId: "a" },
      { kind: "define", offset: 2, definition: createDefinition("b", "x") },
    ]);
    // The combination was free for the first announcement; the fenced consumer sees a later state.
    await assert.rejects(apply([first]), FencedError);
    assert.deepEqual(letters, []);
  });

  it("keeps the previous definition of a topic, also when it is retired", async () => {
    await db.collection("svc_api_notif_mgmt_topic").deleteMany({});
    const key = { group: unique("group"), topic: "announcements", partition: 0 };
    await store.claim(key);
    const define = (offset: number, name: string): Announcement => ({
      kind: "define",
      offset,
      definition: createDefinition("kept", name),
    });
    let from: { offset: number; epoch: number } | undefined;
    for (const announcement of [
      define(0, "first"),
      define(1, "second"),
      define(2, "second"),
      { kind: "retire", offset: 3, externalId: "kept" } as const,
    ]) {
      const to = { offset: announcement.offset + 1, epoch: 1 };
      await applyAnnouncements({ store, key, from, to, announcements: [announcement] });
      from = to;
    }
    const record = await db.collection("svc_api_notif_mgmt_topic_retired").findOne({ topic_id: "kept" });
    const { sys_updated_on, ...previous } = record?.["previous"] ?? {};
    assert.deepEqual(previous, {
      topic_name: "first",
      namespace: "",
      header_query: "",
      content_query: "",
      source: { kind: "announcement", topic: "announcements", partition: 0, offset: 0 },
    });
    assert.deepEqual(sys_updated_on, record?.["sys_created_on"]);
  });

  it("has the result of one announcement after another at every level of look-ups, also if it is decided ahead", async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (batches) => {
        await db.collection("svc_api_notif_mgmt_topic").deleteMany({});
        const service = createTopicService(store);
        const key = { group: unique("group"), topic: "announcements", partition: 0 };
        await store.claim(key);
        const model = createModel();
        let offset = 0;
        const prepared = batches.map(({ byHand: created, steps }) => {
          const from = offset === 0 ? undefined : { offset, epoch: 1 };
          const announcements = steps.map((one): Announcement => {
            const at = offset++;
            return one.kind === "define"
              ? { kind: "define", offset: at, definition: createDefinition(one.id, one.name) }
              : { kind: "retire", offset: at, externalId: one.id };
          });
          return { created, step: { from, to: { offset, epoch: 1 }, announcements } };
        });
        const rejected: Model["rejected"] = [];
        let ahead: Decision | undefined;
        for (const [index, { created, step }] of prepared.entries()) {
          if (created !== null) {
            const made = await service
              .create(createDefinition(created.id, created.name), "somebody")
              .catch(() => undefined);
            if (made !== undefined) putInModel(model, toModelTopic(made.topic));
          }
          const next = prepared[index + 1]?.step;
          const nextAhead = next && service.decideAhead({ partition: key, epoch: 1, ...next });
          await applyAnnouncements({
            store,
            topics: service,
            key,
            ...step,
            ahead,
            onLetter: (letter) => rejected.push(letter),
          });
          ahead = nextAhead;
          applyToModel(model, step.announcements);
          const stored = await store.findByExternalIds(ids);
          assert.deepEqual(sortById(stored.map(toModelTopic)), sortById([...model.topics.values()]));
        }
        assert.deepEqual(rejected, model.rejected);
      }),
      { numRuns: 100 },
    );
  });
});
