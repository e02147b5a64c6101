/** Counts of events while storing them fails again and again, each time at another place. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { createLogger } from "@topicsync/lib/logger";
import { createTopicIndex } from "../../../src/topics/live/topic-index.ts";
import { startUsageRecorder } from "../../../src/routing/usage-recorder.ts";
import { useVirtualTime } from "../../support/virtual-time.ts";

/** Where storing fails: before anything is stored, or at one of three writes of 200, 200 and 50 topics. */
type Place = "note" | number;
const places: readonly Place[] = ["note", 0, 1, 2];

const ids = Array.from({ length: 450 }, (_, number) => `topic ${number}`);
/** Longer than three writes and the pauses between them. */
const storingMs = 1_000;

const toMessage = (place: Place): string =>
  place === "note" ? "the time is not noted" : `write ${place} fails`;

/** A recorder whose store is in memory. */
async function createScene(t: TestContext) {
  const time = useVirtualTime(t);
  const warnings: string[] = [];
  const log = await createLogger("warn", {
    write: (line) => void warnings.push(JSON.parse(line).err.message),
  });
  const index = createTopicIndex(log);
  for (const externalId of ids)
    index.set({ externalId, namespace: "", headerQuery: "", contentQuery: `id=${externalId}` });
  const counted = new Map<string, number>();
  const stored = new Map<string, number>();
  /** Where storing fails once. */
  let failing: Place | undefined;
  /** How many writes the current pass has begun. */
  let writes = 0;

  function failAt(place: Place): void {
    if (failing !== place) return;
    failing = undefined;
    // Events arrive in between.
    if (place !== "note") count(7);
    throw new Error(toMessage(place));
  }

  /** Counts events for each topic, or for every seventh, more for each one than for those before. */
  function count(step: 1 | 7): void {
    for (let number = 0; number < ids.length; number += step) {
      const id = ids[number] ?? assert.fail();
      index.picker.count(id, number + 1);
      counted.set(id, (counted.get(id) ?? 0) + number + 1);
    }
  }

  const recorder = startUsageRecorder({
    ...{ index: index.picker, log },
    usage: {
      async noteCounting({ since, until }) {
        await Promise.resolve();
        assert.ok(since <= until);
        writes = 0;
        failAt("note");
      },
      async add(counts) {
        const write = writes;
        writes += 1;
        await Promise.resolve();
        failAt(write);
        for (const { externalId, matches } of counts)
          stored.set(externalId, (stored.get(externalId) ?? 0) + matches);
      },
    },
  });
  return {
    ...{ time, warnings, counted, stored, count, recorder },
    failNext: (place: Place): void => {
      failing = place;
    },
  };
}

describe("the counts of events", () => {
  for (const first of places)
    for (const second of places)
      it(`are stored once after storing them has failed at ${first}, and then at ${second}`, async (t) => {
        const { time, warnings, counted, stored, count, failNext, recorder } = await createScene(t);
        count(1);
        failNext(first);
        await time.pass(10_000 + storingMs);
        count(1);
        failNext(second);
        await time.pass(20_000);
        assert.deepEqual(warnings, [toMessage(first), toMessage(second)]);
        await time.pass(40_000);
        assert.deepEqual(stored, counted);
        await recorder.stop();
        assert.deepEqual(stored, counted);
      });

  it("are stored once at the end if storing them fails then, as it did before", async (t) => {
    const { time, warnings, counted, stored, count, failNext, recorder } = await createScene(t);
    count(1);
    failNext("note");
    await time.pass(10_000);
    failNext(1);
    await time.pass(20_000);
    assert.equal(stored.size, 200, "storing pauses after its first write");
    await recorder.stop();
    assert.deepEqual(warnings, [toMessage("note"), toMessage(1)]);
    assert.deepEqual(stored, counted);
  });
});
