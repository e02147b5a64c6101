import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createRealKafka } from "./real-kafka.ts";
import { logScenes } from "./kafka-log-scenes.ts";
import { memberScenes } from "./kafka-member-scenes.ts";
import { runSimulated } from "./simulated-kafka.ts";

/** Each cuts the fetches in another way. */
const seeds = 20;

const runReal = await createRealKafka();

describe("the simulated Kafka", { concurrency: true }, () => {
  for (const { name, partitions, play } of [...logScenes, ...memberScenes])
    it(`is like the real one: ${name}`, async () => {
      const expected = await runReal(partitions, play);
      for (let seed = 1; seed <= seeds; seed += 1)
        assert.deepEqual(await runSimulated({ seed, partitions }, play), expected, `seed ${seed}`);
    });
});
