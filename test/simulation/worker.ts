/** Runs the seeds of one of several workers, and reports each. */
import { parentPort, workerData } from "node:worker_threads";

import { chooseWorld, runSeed, type WorldName } from "./run.ts";
import type { WorldResult } from "./world.ts";

export interface WorkerTask {
  readonly first: number;
  /** How many seeds further the next one is. */
  readonly stride: number;
  /** The end; undefined: until it is stopped. */
  readonly end: number | undefined;
  readonly world: WorldName | undefined;
  readonly length: number;
}

export type WorkerReport =
  | ({ readonly seed: number; readonly world: WorldName } & (
      { readonly result: WorldResult } | { readonly failure: string }
    ))
  | { readonly done: true };

// Errors of simulated brokers are ordinary, and traces cost more than what throws them.
Error.stackTraceLimit = 0;

const { first, stride, end = Infinity, world: given, length } = workerData as WorkerTask;
const report = (message: WorkerReport): void => parentPort?.postMessage(message);

for (let seed = first; seed < end; seed += stride) {
  const world = given ?? chooseWorld(seed);
  try {
    report({ seed, world, result: await runSeed({ seed, world, length }) });
  } catch (error) {
    report({ seed, world, failure: error instanceof Error ? error.message : String(error) });
  }
}
report({ done: true });
