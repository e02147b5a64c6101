import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { createRealKafka } from "./real-kafka.ts";
import { logScenes } from "./kafka-log-scenes.ts";
import { memberScenes } from "./kafka-member-scenes.ts";
import { runSimulated } from "./simulated-kafka.ts";

const scenes = [...logScenes, ...memberScenes];

/** Each seed cuts fetches in another way. */
const seeds = 20;

describe("the simulated Kafka", () => {
  const expected = new Map<string, unknown>();

  // First, because the simulation takes over the time of the whole process.
  before(async () => {
    const runReal = await createRealKafka();
    const failures: unknown[] = [];
    await Promise.all(
      scenes.map(async ({ name, partitions, play }) => {
        try {
          expected.set(name, await runReal(partitions, play));
        } catch (error) {
          failures.push(new Error(`with the real one: ${name}`, { cause: error }));
        }
      }),
    );
    // All have ended now: a scene that goes on without the clients of this file would not end.
    assert.deepEqual(failures, []);
  });

  for (const { name, partitions, play } of scenes)
    it(`is like the real one: ${name}`, async () => {
      for (let seed = 1; seed <= seeds; seed += 1)
        assert.deepEqual(await runSimulated({ seed, partitions }, play), expected.get(name), `seed ${seed}`);
    });
});
