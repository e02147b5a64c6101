import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";

import { mutants } from "./mutants/index.ts";
import { readRegressions } from "./regressions.ts";
import { chooseWorld } from "./run.ts";
import { useScheduleThread } from "./schedule-thread.ts";

const seeds = 240;
const routerSeeds = 60;
const length = 150;
const regressions = readRegressions();
const { runSeed, runSteps } = useScheduleThread();

describe("the simulation", () => {
  it(`finds no violation in the first ${seeds} seeds`, async () => {
    for (let seed = 1; seed <= seeds; seed += 1)
      await runSeed({ seed, world: chooseWorld(seed), length }).catch((error: unknown) => {
        assert.fail(`seed ${seed}: ${String(error)}. Repeat it with \`npm run simulate -- --seed ${seed}\`.`);
      });
  });

  it(`finds no violation in the first ${routerSeeds} seeds of the router`, async () => {
    for (let seed = 1; seed <= routerSeeds; seed += 1)
      await runSeed({ seed, world: "router", length }).catch((error: unknown) => {
        assert.fail(
          `seed ${seed}: ${String(error)}. Repeat it with \`npm run simulate -- --world router --seed ${seed}\`.`,
        );
      });
  });

  it("is the same whenever a seed is repeated", async () => {
    for (const seed of [1, 2, 3, 4, 8]) {
      const options = { seed, world: chooseWorld(seed), length };
      const [first, second] = [await runSeed(options), await runSeed(options)];
      assert.equal(first.digest, second.digest);
    }
  });

  for (const regression of regressions)
    it(`finds no violation in a schedule: ${regression.name}`, async () => {
      await runSteps(regression);
    });

  it("has mutants whose text occurs in the product, and whose schedules exist", () => {
    const schedules = new Set(regressions.map(({ name }) => name));
    for (const { name, file, replace, schedule } of mutants) {
      if (schedule !== undefined) assert.ok(schedules.has(schedule), name);
      const source = readFileSync(resolve(import.meta.dirname, "../..", file), "utf8");
      assert.equal(source.split(replace).length, 2, `${name}: ${file}`);
    }
  });

  it("finds a mutant, and says so with its exit code", () => {
    const args = ["test/simulation/simulate.ts", "--mutants", "the position moves outside the transaction"];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.match(stdout, /^found: the position moves outside the transaction$/m);
    assert.equal(status, 0);
  });
});
