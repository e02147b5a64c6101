import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";

import { useScheduleThread } from "./schedule-thread.ts";
import { testSeeds } from "./seed-tests.ts";

const thread = useScheduleThread();

describe("the simulation", () => {
  testSeeds(thread, { all: 240, router: 60, repeated: [1, 2, 3, 4, 8], short: 12 });

  it("finds a mutant, and says so with its exit code", () => {
    const args = ["test/simulation/simulate.ts", "--mutants", "the position moves outside the transaction"];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.match(stdout, /^found: the position moves outside the transaction$/m);
    assert.equal(status, 0);
  });
});
