import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import type { EventSample } from "../../../src/event-types/event-type.ts";
import { createEventTypeService } from "../../../src/event-types/service.ts";
import { sampleEvents } from "../../support/event-sample.ts";

const sample = await sampleEvents([{ eventType: "A", event: { state: "on" } }]);
const misspelled = { contentQuery: "stat=on" };
const showsValues = true;
const away = new UnavailableError("Kafka is away");

/** A service whose readings end when the test says so, and a clock that the test moves. */
function createScene(t: TestContext) {
  let time = performance.now();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(performance, "now", () => time);
  const readings: PromiseWithResolvers<EventSample>[] = [];
  const logged: unknown[] = [];
  const read = (): Promise<EventSample> => {
    const reading = Promise.withResolvers<EventSample>();
    readings.push(reading);
    return reading.promise;
  };
  const warn = (...line: unknown[]): void => void logged.push(line);
  return {
    ...{ readings, logged, service: createEventTypeService(read, { warn }) },
    /** Moves the clock, once all that waits does. */
    pass: async (ms: number): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      time += ms;
      t.mock.timers.tick(ms);
    },
  };
}

describe("what the last events look like", () => {
  it("is read once for all who ask within five minutes", async (t) => {
    const { service, readings, pass } = createScene(t);
    const asked = [service.getSample(), service.getSample()];
    const warnings = service.findWarnings(misspelled, { showsValues });
    readings[0]?.resolve(sample);
    assert.deepEqual(await Promise.all(asked), [sample, sample]);
    assert.equal((await warnings).length, 1);
    await pass(299_999);
    assert.equal(await service.getSample(), sample);
    assert.equal(readings.length, 1);
    await pass(2);
    const later = service.getSample();
    assert.equal(readings.length, 2);
    readings[1]?.resolve(await sampleEvents([]));
    assert.equal((await later)?.events, 0);
  });

  it("cannot be read again for ten seconds after a failure, which is logged once", async (t) => {
    const { service, readings, logged, pass } = createScene(t);
    const failed = service.getSample();
    readings[0]?.reject(away);
    await assert.rejects(failed, away);
    await pass(9_999);
    await assert.rejects(service.getSample(), away);
    assert.deepEqual(logged, [[{ reason: "Kafka is away" }, "events not sampled"]]);
    await pass(2);
    const again = service.getSample();
    readings[1]?.resolve(sample);
    assert.equal(await again, sample);
  });

  it("is waited for by warnings, but not longer than asked for", async (t) => {
    const { service, readings, pass } = createScene(t);
    const warnings = service.findWarnings(misspelled, { showsValues, maxWaitMs: 1_000 });
    await pass(1_000);
    assert.deepEqual(await warnings, []);
    readings[0]?.resolve(sample);
    assert.equal((await service.findWarnings(misspelled, { showsValues })).length, 1);
    assert.equal(readings.length, 1);
  });

  it("is not waited for by warnings after a failure, and a failure fails none", async (t) => {
    const { service, readings, pass } = createScene(t);
    const warnings = service.findWarnings(misspelled, { showsValues });
    readings[0]?.reject(away);
    assert.deepEqual(await warnings, []);
    assert.deepEqual(await service.findWarnings(misspelled, { showsValues }), []);
    await pass(10_001);
    const unwaited = service.findWarnings(misspelled, { showsValues });
    await pass(1);
    assert.deepEqual(await unwaited, []);
    assert.equal(readings.length, 2);
    readings[1]?.resolve(sample);
    await service.getSample();
    assert.equal((await service.findWarnings(misspelled, { showsValues })).length, 1);
  });

  it("is unknown without an events topic", async () => {
    const service = createEventTypeService(undefined, { warn: () => undefined });
    assert.equal(await service.getSample(), undefined);
    assert.deepEqual(await service.findWarnings(misspelled, { showsValues }), []);
  });
});
