import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";

import { collections } from "../../src/storage/names.ts";
import { service, withContestant } from "../support/contestant.ts";
import { fillTopic, openTopic, type FilledTopic } from "../support/announcements.ts";
import { createCommonOptions, parsePositive, type CommonOptions } from "../support/options.ts";
import { readMemoryMb } from "../support/process-usage.ts";
import { median, printReports, reportProgress, type Report } from "../support/report.ts";
import { withWorkspace, startStack, type BenchStack, type BenchStore } from "../support/stack.ts";

interface MemoryOptions extends CommonOptions {
  readonly announcements: number;
  readonly seconds: number;
}

const idleSeconds = 20;
const defaults = { announcements: 1_000_000, seconds: 60 };

export const memoryCommand = (): Command => {
  const command = new Command("memory").description(
    "resident memory of the service, idle and while it reads a large backlog",
  );
  command.option(
    "--announcements <n>",
    "announcements in the backlog",
    parsePositive,
    defaults.announcements,
  );
  command.option(
    "--seconds <n>",
    "maximum duration of the measurement while reading, in seconds",
    parsePositive,
    defaults.seconds,
  );
  for (const option of createCommonOptions()) command.addOption(option);
  return command.action(async (options: MemoryOptions) => {
    await using stack = await startStack(options.store);
    printReports([await measureMemory(stack, options)], stack.broker.description, options);
  });
};

/** Resident memory in MB (2^20 bytes), one sample per second. */
interface Memory {
  readonly samples: readonly number[];
  /** The peak since the process started. */
  readonly peak: number;
  readonly stored: number;
}

export async function measureMemory(
  stack: BenchStack,
  { announcements, seconds } = defaults,
): Promise<Report> {
  const [anyStore] = stack.stores;
  if (anyStore === undefined) throw new Error("there is no store to measure on");
  reportProgress(`measuring the idle service for ${idleSeconds} s`);
  const idle = await measureIdle(stack, anyStore);
  reportProgress(`sending ${announcements} announcements`);
  const source = await fillTopic(stack.broker.address, "bench.memory", announcements);
  const found = [{ what: "idle", ...idle }];
  for (const store of stack.stores) {
    reportProgress(`${store.description}: measuring while reading, for at most ${seconds} s`);
    found.push({
      what: `reading, ${store.description}`,
      ...(await watchReading(stack, { store, source, seconds })),
    });
  }
  return {
    title: "memory",
    head: ["service", "topics stored", "first, MB", "median, MB", "last, MB", "peak, MB"],
    rows: found.map(({ what, stored, samples, peak }) => [
      what,
      stored,
      samples[0] ?? NaN,
      median(samples),
      samples.at(-1) ?? NaN,
      peak,
    ]),
    notes: [
      `Resident memory, sampled each second; ${announcements} announcements in the backlog, read for at most ${seconds} s. The peak is since the start of the process.`,
    ],
    data: found,
  };
}

/** Uses an empty Kafka topic. */
export async function measureIdle(stack: BenchStack, store: BenchStore): Promise<Memory> {
  const topic = "bench.memory.idle";
  await (await openTopic(stack.broker.address, topic))[Symbol.asyncDispose]();
  return withWorkspace(stack, { store, topic }, (workspace) =>
    withContestant(service, workspace, async (running) => {
      const { pid } = running;
      while (!(await running.readLastOutput()).includes("topicsync is ready")) await sleep(50);
      const samples = await sampleMemory(pid, () => Promise.resolve(false), idleSeconds);
      return { samples, peak: readMemoryMb(pid, "VmHWM"), stored: 0 };
    }),
  );
}

/** Samples from the first stored topic until all are stored or the time is over. */
function watchReading(
  stack: BenchStack,
  { store, source, seconds }: { store: BenchStore; source: FilledTopic; seconds: number },
): Promise<Memory> {
  return withWorkspace(stack, { store, topic: source.topic }, (workspace, db) =>
    withContestant(service, workspace, async ({ pid }) => {
      const topics = db.collection(collections.topics);
      while ((await topics.estimatedDocumentCount()) === 0) await sleep(20);
      const hasEnded = async (): Promise<boolean> => (await topics.estimatedDocumentCount()) >= source.count;
      const samples = await sampleMemory(pid, hasEnded, seconds);
      return { samples, peak: readMemoryMb(pid, "VmHWM"), stored: await topics.estimatedDocumentCount() };
    }),
  );
}

async function sampleMemory(
  pid: number,
  hasEnded: () => Promise<boolean>,
  seconds: number,
): Promise<number[]> {
  const samples: number[] = [];
  while (samples.length < seconds && !(await hasEnded())) {
    samples.push(readMemoryMb(pid, "VmRSS"));
    await sleep(1_000);
  }
  return samples;
}
