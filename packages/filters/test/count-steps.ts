import { Session } from "node:inspector/promises";

// Steps are block counts of V8's coverage, so the code needs no counters. Work inside of Node's own functions
// is not counted; picker/cost-of-long-texts.long.test.ts measures it.
const session = new Session();

/** Only code that is compiled after this is counted by block: import it then. */
export async function startCountingSteps(): Promise<void> {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
}

export async function stopCountingSteps(): Promise<void> {
  await session.post("Profiler.stopPreciseCoverage");
  session.disconnect();
}

/** Counts the steps of a function in the picker and the filter language. */
export async function countSteps<T>(run: () => T): Promise<{ result: T; steps: number }> {
  await session.post("Profiler.takePreciseCoverage");
  const result = run();
  const { result: scripts } = await session.post("Profiler.takePreciseCoverage");
  const steps = scripts
    .filter(({ url }) => /\/packages\/filters\/(?!test\/)/.test(url))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((sum, { count }) => sum + count, 0);
  return { result, steps };
}
