import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { structureLimits } from "../../../src/event-types/event-type.ts";
import { EventSampler } from "../../../src/event-types/sampler.ts";
import { toEventTypeList, toEventTypeView } from "../../../src/event-types/view.ts";
import { sampleEvents } from "../../support/event-sample.ts";

describe("a sample of events", () => {
  it("has their types, the most frequent first, and says what it is", async () => {
    const sampler = new EventSampler();
    sampler.add({ eventType: "A" }, 60_000);
    sampler.add({}, 1_000);
    sampler.add({ eventType: "" }, 5_000);
    // Kafka's "none".
    sampler.add({ eventType: null }, -1);
    sampler.reject();
    assert.equal(sampler.records, 5);
    assert.deepEqual(toEventTypeList(await sampler.describe()), {
      sample: {
        events: 4,
        rejected: 1,
        from: "1970-01-01T00:00:01.000Z",
        to: "1970-01-01T00:01:00.000Z",
      },
      eventTypes: [
        { name: "-", events: 3, share: 0.75, complete: true, pathCount: 1 },
        { name: "A", events: 1, share: 0.25, complete: true, pathCount: 1 },
      ],
    });
    const { sample } = toEventTypeList(await sampleEvents([]));
    assert.deepEqual(sample, { events: 0, rejected: 0, from: null, to: null });
  });

  it("shows values only to who may see them", async () => {
    const sample = await sampleEvents(
      Array.from({ length: 40 }, (_, n) => ({ event: { state: n % 2 === 0 ? "on" : "off", count: n } })),
    );
    const [type] = sample.types;
    assert.ok(type !== undefined);
    const show = (showsValues: boolean) =>
      toEventTypeView(type, sample, { showsValues }).paths.map(({ path, kinds, share, values }) => [
        ...[path, Object.keys(kinds).join(), share, values],
      ]);
    assert.deepEqual(show(true), [
      ["event", "object", 1, undefined],
      ["event.state", "string", 1, ["off", "on"]],
      ["event.count", "number", 1, undefined],
    ]);
    assert.deepEqual(show(false)[1], ["event.state", "string", 1, undefined]);
  });

  it("knows at most 1,000 types and 50,000 paths", async () => {
    const types = Array.from({ length: 3_000 }, (_, n) => ({ eventType: `type ${n}` }));
    const many = await sampleEvents([...types, { eventType: "x".repeat(structureLimits.typeLength + 1) }]);
    assert.deepEqual([many.events, many.types.length, many.hasAllTypes], [3_001, 1_000, false]);
    const names = Array.from({ length: 150 }, (_, n) => [`name ${n}`, n] as const);
    const wide = await sampleEvents(
      types.slice(0, 1_000).map((type) => ({ ...type, event: Object.fromEntries(names) })),
    );
    const paths = wide.types.reduce((sum, type) => sum + type.paths.length, 0);
    assert.equal(paths, structureLimits.paths);
    assert.equal(wide.types.at(-1)?.isComplete, false);
  });
});
