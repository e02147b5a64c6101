import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";

import { mutants } from "./mutants/index.ts";
import { readRegressions } from "./regressions.ts";
import { useScheduleThread } from "./schedule-thread.ts";
import { testSeeds } from "./seed-tests.ts";

const regressions = readRegressions();
const thread = useScheduleThread();

describe("the simulation", () => {
  testSeeds(thread, { all: 8, router: 2, repeated: [2, 3, 4], short: 1 });

  for (const regression of regressions)
    it(`finds no violation in a schedule: ${regression.name}`, async () => {
      await thread.runSteps(regression);
    });

  it("has mutants whose text occurs in the product, and whose schedules exist", () => {
    const schedules = new Set(regressions.map(({ name }) => name));
    for (const { name, file, replace, schedule } of mutants) {
      if (schedule !== undefined) assert.ok(schedules.has(schedule), name);
      const source = readFileSync(resolve(import.meta.dirname, "../..", file), "utf8");
      assert.equal(source.split(replace).length, 2, `${name}: ${file}`);
    }
  });
});
