import { setTimeout as sleep } from "node:timers/promises";

import { runCommand } from "@topicsync/embedded";
import { service, withContestant } from "./support/contestant.ts";
import { openTopic } from "./support/announcements.ts";
import { readCpuMicros } from "./support/process-usage.ts";
import { withWorkspace, type BenchStack, type BenchStore, type Workspace } from "./support/stack.ts";

/** What any service of this kind has to load. */
const libraries = "await Promise.all(['kafkajs', 'mongodb', 'express'].map((name) => import(name)))";
const printCpu = "const { user, system } = process.cpuUsage(); console.log(user + system)";

interface Start {
  readonly ms: number;
  readonly cpuMicros: number;
}

export interface StartRound {
  /** Loading the libraries alone. */
  readonly floor: Start;
  /** Until the service is ready, with an empty Kafka topic. */
  readonly service: Start;
}

/** Measures until `onRound` returns false. */
export async function measureStarts(
  stack: BenchStack,
  store: BenchStore,
  onRound: (round: StartRound) => boolean,
): Promise<void> {
  const topic = "bench.start";
  await (await openTopic(stack.broker.address, topic))[Symbol.asyncDispose]();
  const measure = async (): Promise<StartRound> => ({
    floor: await measureLoading(),
    service: await withWorkspace(stack, { store, topic }, measureUntilReady),
  });
  while (onRound(await measure()));
}

async function measureLoading(): Promise<Start> {
  const startedAt = performance.now();
  const program = `${libraries}; ${printCpu}`;
  const { stdout } = await runCommand(process.execPath, ["--input-type=module", "--eval", program]);
  return { ms: performance.now() - startedAt, cpuMicros: Number(stdout) };
}

async function measureUntilReady(workspace: Workspace): Promise<Start> {
  const startedAt = performance.now();
  return withContestant(service, workspace, async (running) => {
    while (!(await running.readLastOutput()).includes("topicsync is ready")) await sleep(10);
    return { ms: performance.now() - startedAt, cpuMicros: readCpuMicros(running.pid) };
  });
}
