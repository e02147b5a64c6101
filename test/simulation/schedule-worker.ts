/** Runs the schedules that it is sent, one after another. */
import { parentPort } from "node:worker_threads";

import { runSteps, type Schedule } from "./run.ts";
import type { WorldResult } from "./world.ts";

export type ScheduleReport = { readonly result: WorldResult } | { readonly failure: string };

// Errors of simulated brokers are ordinary, and traces cost more than what throws them.
Error.stackTraceLimit = 0;

parentPort?.on("message", ({ steps, ...options }: Schedule) => {
  const report = (message: ScheduleReport): void => parentPort?.postMessage(message);
  runSteps(options, steps).then(
    (result) => {
      report({ result });
    },
    (error: unknown) => {
      report({ failure: String(error) });
    },
  );
});
