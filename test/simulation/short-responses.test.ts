import { describe, it } from "node:test";

import { getSteps, type AnyStep, type WorldName } from "./run.ts";
import { useScheduleThread } from "./schedule-thread.ts";
import { messages, type MessageName } from "../simulated-servers/index.ts";

const names = Object.keys(messages) as MessageName[];
const seedsPerWorld = 12;
const { runSteps } = useScheduleThread();

/** Lets the next response of each kind end too early, after every few steps those of another kind. */
function addShortResponses(steps: readonly AnyStep[], seed: number): AnyStep[] {
  return steps.flatMap((step, index) => {
    const request = names[(seed + index) % names.length];
    if (request === undefined) return [step];
    const faults = ["short", "short", "short"] as const;
    return [step, { afterMs: 0, action: { do: "disturb request", process: index % 2, request, faults } }];
  });
}

describe("responses that end too early", () => {
  for (const world of ["sync", "router"] satisfies WorldName[])
    it(`are handled as failures of their requests: ${world}`, async () => {
      for (let seed = 1; seed <= seedsPerWorld; seed += 1) {
        const steps = addShortResponses(getSteps({ seed, world, length: 150 }), seed);
        await runSteps({ seed, world, steps }).catch((error: unknown) => {
          throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
        });
      }
    });
});
