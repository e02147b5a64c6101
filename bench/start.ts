import { once } from "node:events";
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

import { service, withContestant } from "./support/contestant.ts";
import { openTopic } from "./support/announcements.ts";
import { median } from "./support/report.ts";
import { withWorkspace, type BenchStack, type BenchStore, type Workspace } from "./support/stack.ts";

const rounds = 5;
/** What any service of this kind has to load. */
const libraries = "await Promise.all(['kafkajs', 'mongodb', 'express'].map((name) => import(name)))";

/**
 * The time to load the libraries, divided by the time until the service is ready; the median of the rounds.
 */
export async function measureStart(stack: BenchStack, store: BenchStore): Promise<number> {
  const topic = "bench.start";
  await (await openTopic(stack.broker.address, topic))[Symbol.asyncDispose]();
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const loadedMs = await measureLoading();
    const readyMs = await withWorkspace(stack, { store, topic }, measureUntilReady);
    ratios.push(loadedMs / readyMs);
  }
  return median(ratios);
}

async function measureLoading(): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ["--input-type=module", "--eval", libraries], { stdio: "inherit" });
  await once(child, "exit");
  return performance.now() - startedAt;
}

async function measureUntilReady(workspace: Workspace): Promise<number> {
  const startedAt = performance.now();
  return withContestant(service, workspace, async (running) => {
    while (!(await running.readLastOutput()).includes("topicsync is ready")) await sleep(10);
    return performance.now() - startedAt;
  });
}
