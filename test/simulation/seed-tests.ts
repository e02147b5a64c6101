import assert from "node:assert/strict";
import { it } from "node:test";

import { messages, type MessageName } from "../simulated-servers/index.ts";
import { chooseWorld, getSteps, type AnyStep, type WorldName } from "./run.ts";
import type { ScheduleThread } from "./schedule-thread.ts";

interface SeedCounts {
  /** How many seeds to run, of all kinds of worlds. */
  readonly all: number;
  readonly router: number;
  /** Seeds to run twice. */
  readonly repeated: readonly number[];
  /** How many seeds to run with responses that end too early, of the sync and of the router each. */
  readonly short: number;
}

const length = 150;
const names = Object.keys(messages) as MessageName[];

/** Lets the next response of each kind end too early, after every few steps those of another kind. */
function addShortResponses(steps: readonly AnyStep[], seed: number): AnyStep[] {
  return steps.flatMap((step, index) => {
    const request = names[(seed + index) % names.length];
    if (request === undefined) return [step];
    const faults = ["short", "short", "short"] as const;
    return [step, { afterMs: 0, action: { do: "disturb request", process: index % 2, request, faults } }];
  });
}

/** The tests that run seeds: a few in simulation.test.ts, many in simulation.long.test.ts. */
export function testSeeds({ runSteps, runSeed }: ScheduleThread, counts: SeedCounts): void {
  it(`finds no violation in the first ${counts.all} seeds`, async () => {
    for (let seed = 1; seed <= counts.all; seed += 1)
      await runSeed({ seed, world: chooseWorld(seed), length }).catch((error: unknown) => {
        assert.fail(`seed ${seed}: ${String(error)}. Repeat it with \`npm run simulate -- --seed ${seed}\`.`);
      });
  });

  it(`finds no violation in the first ${counts.router} seeds of the router`, async () => {
    for (let seed = 1; seed <= counts.router; seed += 1)
      await runSeed({ seed, world: "router", length }).catch((error: unknown) => {
        assert.fail(
          `seed ${seed}: ${String(error)}. Repeat it with \`npm run simulate -- --world router --seed ${seed}\`.`,
        );
      });
  });

  it("is the same whenever a seed is repeated", async () => {
    for (const seed of counts.repeated) {
      const options = { seed, world: chooseWorld(seed), length };
      const [first, second] = [await runSeed(options), await runSeed(options)];
      assert.equal(first.digest, second.digest);
    }
  });

  for (const world of ["sync", "router"] satisfies WorldName[])
    it(`handles responses that end too early as failures of their requests: ${world}`, async () => {
      for (let seed = 1; seed <= counts.short; seed += 1) {
        const steps = addShortResponses(getSteps({ seed, world, length }), seed);
        await runSteps({ seed, world, steps }).catch((error: unknown) => {
          throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
        });
      }
    });
}
