import { once } from "node:events";
import { after } from "node:test";
import { Worker } from "node:worker_threads";

import { getSteps, type RunOptions, type Schedule } from "./run.ts";
import type { ScheduleReport } from "./schedule-worker.ts";
import type { WorldResult } from "./world.ts";

export interface ScheduleThread {
  /** Throws what a check found. */
  readonly runSteps: (schedule: Schedule) => Promise<WorldResult>;
  readonly runSeed: (options: Omit<RunOptions, "onTrace">) => Promise<WorldResult>;
}

/**
 * Returns functions that run one schedule at a time in a thread of their own, until the tests of this file
 * end. In the thread of the tests `node:test` follows each promise, which takes as long as the simulation.
 */
export function useScheduleThread(): ScheduleThread {
  const worker = new Worker(new URL("schedule-worker.ts", import.meta.url));
  after(() => worker.terminate());

  async function runSteps(schedule: Schedule): Promise<WorldResult> {
    worker.postMessage(schedule);
    const [report] = (await once(worker, "message")) as [ScheduleReport];
    if ("failure" in report) throw new Error(report.failure);
    return report.result;
  }

  const runSeed = (options: Omit<RunOptions, "onTrace">): Promise<WorldResult> =>
    runSteps({ seed: options.seed, world: options.world, steps: getSteps(options) });

  return { runSteps, runSeed };
}
