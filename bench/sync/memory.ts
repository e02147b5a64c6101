import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";

import { withContestant } from "../support/contestant.ts";
import { service } from "../support/contestants.ts";
import { fillLog, openLog, type Log } from "../support/announcements.ts";
import { commonOptions, positive, type CommonOptions } from "../support/options.ts";
import { readMemory } from "../support/process-usage.ts";
import { median, print, progress, type Report } from "../support/report.ts";
import { inArena, startStack, type BenchStack, type BenchStore } from "../support/stack.ts";

interface MemoryOptions extends CommonOptions {
  readonly announcements: number;
  readonly seconds: number;
}

const idleSeconds = 20;
const defaults = { announcements: 1_000_000, seconds: 60 };

/** `bench memory`: the service's resident memory, idle and while a long log waits. */
export const memoryCommand = (): Command => {
  const command = new Command("memory").description(
    "the service's resident memory, idle and while it reads a log that is far from its end",
  );
  command.option(
    "--announcements <n>",
    "announcements that wait in the log",
    positive,
    defaults.announcements,
  );
  command.option("--seconds <n>", "for how long the service reads, at most", positive, defaults.seconds);
  for (const option of commonOptions()) command.addOption(option);
  return command.action(async (options: MemoryOptions) => {
    await using stack = await startStack(options.store);
    print([await measureMemory(stack, options)], stack.broker.description, options);
  });
};

/** Resident memory, in MB (2^20 bytes), one sample a second. */
interface Memory {
  readonly samples: readonly number[];
  /** The most that the process ever had, also between two samples. */
  readonly peak: number;
  /** Announcements that were stored meanwhile. */
  readonly stored: number;
}

/** Measures the service on every store of the stack. */
export async function measureMemory(
  stack: BenchStack,
  { announcements, seconds } = defaults,
): Promise<Report> {
  const [anyStore] = stack.stores;
  if (anyStore === undefined) throw new Error("there is no store to measure on");
  progress(`the service idle, for ${idleSeconds} s`);
  const idle = await watchIdle(stack, anyStore);
  progress(`filling a log with ${announcements} announcements`);
  const log = await fillLog(stack.broker.address, "bench.memory", announcements);
  const found = [{ what: "idle", ...idle }];
  for (const store of stack.stores) {
    progress(`${store.description}: the service reads, for at most ${seconds} s`);
    found.push({
      what: `reading, ${store.description}`,
      ...(await watchReading(stack, { store, log, seconds })),
    });
  }
  return {
    title: "memory",
    head: ["service", "stored meanwhile", "first, MB", "median, MB", "last, MB", "peak, MB"],
    rows: found.map(({ what, stored, samples, peak }) => [
      what,
      stored,
      samples[0] ?? NaN,
      median(samples),
      samples.at(-1) ?? NaN,
      peak,
    ]),
    notes: [
      `Resident memory each second; ${announcements} announcements in the log, read for at most ${seconds} s. The peak is the system's own, since the start of the process.`,
    ],
    data: found,
  };
}

/** On a topic without a record. */
async function watchIdle(stack: BenchStack, store: BenchStore): Promise<Memory> {
  const topic = "bench.memory.idle";
  await (await openLog(stack.broker.address, topic))[Symbol.asyncDispose]();
  return inArena(stack, { store, topic }, (arena) =>
    withContestant(service, arena, async (running) => {
      const { pid } = running;
      while (!(await running.lastOutput()).includes("topicsync is ready")) await sleep(50);
      const samples = await sampled(pid, () => Promise.resolve(false), idleSeconds);
      return { samples, peak: readMemory(pid, "VmHWM"), stored: 0 };
    }),
  );
}

/** From the first stored record on, until all are stored or the time is over. */
function watchReading(
  stack: BenchStack,
  { store, log, seconds }: { store: BenchStore; log: Log; seconds: number },
): Promise<Memory> {
  return inArena(stack, { store, topic: log.topic }, (arena, db) =>
    withContestant(service, arena, async ({ pid }) => {
      const topics = db.collection("svc_api_notif_mgmt_topic");
      while ((await topics.estimatedDocumentCount()) === 0) await sleep(20);
      const ended = async (): Promise<boolean> => (await topics.estimatedDocumentCount()) >= log.count;
      const samples = await sampled(pid, ended, seconds);
      return { samples, peak: readMemory(pid, "VmHWM"), stored: await topics.estimatedDocumentCount() };
    }),
  );
}

async function sampled(pid: number, ended: () => Promise<boolean>, seconds: number): Promise<number[]> {
  const samples: number[] = [];
  while (samples.length < seconds && !(await ended())) {
    samples.push(readMemory(pid, "VmRSS"));
    await sleep(1_000);
  }
  return samples;
}
