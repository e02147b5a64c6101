import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";
import type { Db } from "mongodb";

import { getLastLines, runCommand } from "@topicsync/embedded";
import { httpService } from "../http/contestants.ts";
import { createCommonOptions, parsePositive, type CommonOptions } from "../support/options.ts";
import { readMemoryMb } from "../support/process-usage.ts";
import { printReports, reportProgress } from "../support/report.ts";
import { checkStored } from "./check.ts";
import { isFailed, reportSoak, type Soak } from "./report.ts";
import { startRestartable, type RestartableService } from "./service.ts";
import { createSeed, type SoakLoad, type SoakResult } from "./load.ts";
import {
  withWorkspace,
  startStack,
  type Workspace,
  type BenchStack,
  type BenchStore,
} from "../support/stack.ts";

interface SoakOptions extends CommonOptions {
  readonly minutes: number;
  readonly share: number;
  readonly connections: number;
  readonly tokens: number;
  /** Seconds; undefined never kills. */
  readonly killEvery?: number;
}

export const soakCommand = (): Command => {
  const command = new Command("soak").description(
    "registrations at a share of the maximum rate: memory, errors, and whether everything acknowledged is stored",
  );
  command.option("--minutes <n>", "duration in minutes", parsePositive, 10);
  command.option(
    "--share <percent>",
    "share of the maximum rate, which is measured first",
    parsePositive,
    80,
  );
  command.option("--connections <n>", "connections", parsePositive, 64);
  command.option("--tokens <n>", "tokens, registered in turn", parsePositive, 500_000);
  command.option(
    "--kill-every <seconds>",
    "interval at which the service is killed with SIGKILL and restarted",
    parsePositive,
  );
  for (const option of createCommonOptions()) command.addOption(option);
  return command.action(async (options: SoakOptions) => {
    await using stack = await startStack(options.store, { forLatency: true });
    const found: Soak[] = [];
    for (const store of stack.stores) found.push(await measureSoak(stack, store, options));
    if (found.some(isFailed)) process.exitCode = 1;
    printReports([reportSoak(found)], stack.broker.description, options);
  });
};

const topRateSeconds = 15;
/** Fewer, because the store in memory keeps these as well. */
const maxTokensForTopRate = 100_000;

const measureSoak = (stack: BenchStack, store: BenchStore, options: SoakOptions): Promise<Soak> =>
  withWorkspace(stack, { store, topic: "bench.soak" }, async (workspace, db) => {
    await using service = await startRestartable(workspace);
    return await Promise.race([soak(service, { store, workspace, db, options }), service.unexpectedExit]);
  });

async function soak(
  service: RestartableService,
  {
    store,
    workspace,
    db,
    options,
  }: {
    readonly store: BenchStore;
    readonly workspace: Workspace;
    readonly db: Db;
    readonly options: SoakOptions;
  },
): Promise<Soak> {
  const { minutes, share, connections, tokens, killEvery } = options;
  const sentFile = join(workspace.folder, "sent");
  const load = {
    url: service.url.href,
    template: httpService.template,
    connections,
    sentFile,
    seed: createSeed(),
    tokens: Math.min(tokens, maxTokensForTopRate),
    seconds: topRateSeconds,
  };
  // A warm-up that is not counted.
  await runClients(workspace, load);
  const { perSecond: topRate } = await runClients(workspace, load);
  const rate = (topRate * share) / 100;
  reportProgress(
    `${store.description}: ${Math.round(rate)}/s of ${Math.round(topRate)}/s for ${minutes} min`,
  );

  const long = { ...load, seed: createSeed(), tokens, seconds: minutes * 60, rate };
  const over = new AbortController();
  const watching = watchMemory(service, over.signal);
  // No kill at the end, so that pending registrations can be retried.
  const kills = killEvery === undefined ? 0 : Math.ceil(long.seconds / killEvery) - 1;
  const killing = killRepeatedly(service, { times: kills, everyMs: (killEvery ?? 0) * 1_000 });
  const result = await runClients(workspace, long).finally(() => {
    over.abort();
  });
  const [memory, killsTook] = await Promise.all([watching, killing]);
  reportProgress(`${store.description}: checking every token`);
  const check = await checkStored(db, long);
  return { store, topRate, rate, minutes, result, check, memory, kills: killsTook };
}

async function runClients({ folder }: Workspace, load: SoakLoad): Promise<SoakResult> {
  const loadFile = join(folder, "order.json");
  await writeFile(loadFile, JSON.stringify(load));
  const program = join(import.meta.dirname, "client.ts");
  const { code, stdout, stderr } = await runCommand(process.execPath, [program, loadFile]);
  if (code !== 0) throw new Error(`the clients failed:\n${getLastLines(stderr, 10)}`);
  return JSON.parse(stdout) as SoakResult;
}

async function watchMemory(service: RestartableService, signal: AbortSignal): Promise<number[]> {
  const samples: number[] = [];
  while (await waitUnlessAborted(1_000, signal)) {
    const sample = readMemoryMb(service.pid(), "VmRSS");
    // NaN right after a kill.
    if (!Number.isNaN(sample)) samples.push(sample);
  }
  return samples;
}

/** Returns the downtime of each kill in ms. */
async function killRepeatedly(
  service: RestartableService,
  { times, everyMs }: { times: number; everyMs: number },
): Promise<number[]> {
  const took: number[] = [];
  const start = performance.now();
  while (took.length < times) {
    await sleep(start + everyMs * (took.length + 1) - performance.now());
    const ms = await service.killAndRestart();
    reportProgress(`killed; registrations accepted again after ${Math.round(ms)} ms`);
    took.push(ms);
  }
  return took;
}

/** False if the signal aborted first. */
const waitUnlessAborted = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal }).catch(() => false);
