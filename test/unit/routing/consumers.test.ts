import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import { now, replacePlatform } from "../../../src/lib/platform.ts";
import { ConsumerObserver, type ConsumerGroup, type GroupReading } from "../../../src/routing/consumers.ts";
import { until } from "../../support/poll.ts";

const group = (name: string, topic: string): ConsumerGroup => ({
  ...{ group: name, type: "classic", state: "stable", members: [] },
  lags: new Map([[topic, 1]]),
});

/** A clock that can be put forward, and readings that a test ends. */
function createScene() {
  let aheadMs = 0;
  const original = replacePlatform({
    ...{ now: () => Date.now() + aheadMs, elapsed: () => performance.now(), random: () => 0.5 },
    schedule: (delayMs, action) => original.schedule(delayMs, action),
    scheduleSoon: (action) => original.scheduleSoon(action),
    fillRandom: (bytes) => {
      original.fillRandom(bytes);
    },
  });
  afterEach(() => {
    replacePlatform(original);
  });
  const readings: PromiseWithResolvers<GroupReading>[] = [];
  const observer = new ConsumerObserver(() => {
    const reading = Promise.withResolvers<GroupReading>();
    readings.push(reading);
    return reading.promise;
  });
  const advance = (ms: number): void => void (aheadMs += ms);
  return { observer, readings, advance };
}

describe("the observer of consumers", () => {
  it("reads when somebody asks, at most once a minute, and keeps the last result if that fails", async () => {
    const { observer, readings, advance } = createScene();
    assert.equal(readings.length, 0);
    const startedAt = now();
    for (let n = 0; n < 3; n += 1) {
      const { asOf, isReading } = observer.observe();
      assert.deepEqual([asOf, isReading, readings.length], [undefined, true, 1]);
    }
    advance(90_000);
    readings[0]?.resolve({ groups: [group("a", "x"), group("b", "x"), group("c", "y")], problems: ["none"] });
    const first = await until("it is read", () => {
      const observation = observer.observe();
      return !observation.isReading && observation;
    });
    const getNames = (topic: string) => first.getGroups(topic).map((one) => one.group);
    assert.deepEqual([getNames("x"), getNames("y"), getNames("z")], [["a", "b"], ["c"], []]);
    // The time at which reading began: what was committed later may be missing.
    assert.ok(Number(first.asOf) - startedAt < 90_000);
    assert.deepEqual(first.problems, ["none"]);
    advance(59_000);
    observer.observe();
    assert.equal(readings.length, 1);
    advance(1_001);
    assert.equal(observer.observe().isReading, true);
    assert.equal(readings.length, 2);
    readings[1]?.reject(new Error("the coordinator is away"));
    const second = await until("it failed", () => {
      const observation = observer.observe();
      return !observation.isReading && observation;
    });
    assert.equal(second.asOf, first.asOf);
    assert.equal(second.getGroups("x").length, 2);
    assert.deepEqual(second.problems, ["the consumer groups: the coordinator is away"]);
  });
});
