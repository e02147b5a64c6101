import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";

import { measureRouter } from "../../../bench/router/router.ts";
import { createService } from "../../../bench/support/contestant.ts";
import type { BenchStack } from "../../../bench/support/stack.ts";
import { useFolder } from "../../support/folder.ts";
import { sharedStack } from "../../support/stack.ts";
import { toolsFolder } from "../../support/local.ts";

const program = createService(join(import.meta.dirname, "../../../src/cli.ts"));
const { kafka, mongodb } = sharedStack();
const folder = useFolder();

const stack: BenchStack = {
  broker: {
    description: "the broker of the tests",
    address: kafka,
    stop: () => Promise.resolve(),
    ended: Promise.withResolvers<string>().promise,
  },
  stores: [{ kind: "embedded", description: "the store of the tests", address: mongodb }],
  toolsFolder,
  folder: folder.path,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

// Kafka Streams is left out: its jars are 90 MB.
const options = { topics: [20], events: 500, rounds: 1, partitions: 2, seconds: 1, peer: false };

it("npm run bench -- router measures the router, two instances of it and the floor", async () => {
  const [rates, latencies] = await measureRouter(stack, options, program);
  const names = (rows: readonly (readonly (string | number)[])[] = []) => rows.map((row) => row[1]).sort();
  assert.deepEqual(names(rates?.rows), ["floor", "router", "router, 2 instances"]);
  assert.deepEqual(names(latencies?.rows), ["floor", "router", "router, 2 instances"]);
  for (const [, name, p50] of latencies?.rows ?? []) assert.ok(Number(p50) > 0, String(name));
});
