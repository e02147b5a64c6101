/**
 * Runs of simulated worlds, each determined by its seed, and the search for the shortest schedule of a
 * failing one.
 */
import fc from "fast-check";

import { runRegistrationWorld } from "./registration-world.ts";
import { runRouterWorld } from "./router-world.ts";
import type { RouterAction } from "./router-actions.ts";
import { routerSteps } from "./router-steps.ts";
import { registrationSteps, type RegistrationAction, type Step } from "./steps.ts";
import { syncSteps, type SyncAction } from "./sync-steps.ts";
import { runSyncWorld } from "./sync-world.ts";
import type { OnTrace, WorldResult } from "./world.ts";

export type WorldName = "sync" | "registrations" | "router";
export type AnyStep = Step<SyncAction | RegistrationAction | RouterAction>;

interface WorldKind {
  readonly createSteps: (length: number) => fc.Arbitrary<AnyStep[]>;
  readonly run: (seed: number, steps: readonly AnyStep[], onTrace?: OnTrace) => Promise<WorldResult>;
}

const worlds: Readonly<Record<WorldName, WorldKind>> = {
  sync: {
    createSteps: syncSteps,
    run: (seed, steps, onTrace) => runSyncWorld(seed, steps as readonly Step<SyncAction>[], onTrace),
  },
  registrations: {
    createSteps: registrationSteps,
    run: (seed, steps, onTrace) =>
      runRegistrationWorld(seed, steps as readonly Step<RegistrationAction>[], onTrace),
  },
  router: {
    createSteps: routerSteps,
    run: (seed, steps, onTrace) => runRouterWorld(seed, steps as readonly Step<RouterAction>[], onTrace),
  },
};

/** One seed in four is a world of registrations, and one in eight, which takes longer, one of the router. */
export function chooseWorld(seed: number): WorldName {
  if (seed % 4 === 0) return "registrations";
  return seed % 8 === 2 ? "router" : "sync";
}

/** The outcome of many seeds. */
export interface Summary {
  readonly seeds: number;
  readonly steps: number;
  readonly faults: number;
  readonly checks: number;
  readonly virtualHours: number;
  readonly seconds: number;
  readonly failures: readonly {
    readonly seed: number;
    readonly world: WorldName;
    readonly failure: string;
  }[];
}

/** A schedule in a world. */
export interface Schedule {
  readonly seed: number;
  readonly world: WorldName;
  readonly steps: readonly AnyStep[];
}

export interface RunOptions {
  readonly seed: number;
  readonly world: WorldName;
  readonly length: number;
  readonly onTrace?: OnTrace | undefined;
}

/** Runs a given schedule. Throws what a check found, or an error that nobody handled. */
export async function runSteps(
  { seed, world, onTrace }: Omit<RunOptions, "length">,
  steps: readonly AnyStep[],
): Promise<WorldResult> {
  const unhandled = Promise.withResolvers<never>();
  process.on("unhandledRejection", unhandled.reject);
  try {
    return await Promise.race([worlds[world].run(seed, steps, onTrace), unhandled.promise]);
  } finally {
    process.off("unhandledRejection", unhandled.reject);
  }
}

/** The schedule of a seed. */
export function getSteps({ seed, world, length }: RunOptions): readonly AnyStep[] {
  const [steps] = fc.sample(worlds[world].createSteps(length), { seed, numRuns: 1 });
  if (steps === undefined) throw new Error("no steps were generated");
  return steps;
}

export const runSeed = (options: RunOptions): Promise<WorldResult> => runSteps(options, getSteps(options));

const maxShrinkMs = 60_000;

/** The shortest schedule found that still fails; undefined if the seed does not fail. */
export async function shrink({ seed, world, length }: RunOptions): Promise<readonly AnyStep[] | undefined> {
  const property = fc.asyncProperty(worlds[world].createSteps(length), async (steps) => {
    await runSteps({ seed, world }, steps);
  });
  const details = (await fc.check(property, {
    seed,
    numRuns: 1,
    plugins: [fc.interruptAfterTimeLimit(maxShrinkMs, { failOnInterrupt: true })],
  })) as fc.RunDetails<[AnyStep[]]>;
  return details.counterexample?.[0];
}
