import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";
import type { Db } from "mongodb";

import { lastLines, runCommand } from "../../src/embedded/command.ts";
import { httpService } from "../http/contestants.ts";
import { commonOptions, positive, type CommonOptions } from "../support/options.ts";
import { readMemory } from "../support/process-usage.ts";
import { print, progress } from "../support/report.ts";
import { checkStored } from "./check.ts";
import type { SoakOrder, SoakResult } from "./load.ts";
import { isBad, reportSoak, type Soak } from "./report.ts";
import { startMortal, type MortalService } from "./service.ts";
import { newSeed } from "./tokens.ts";
import { inArena, startStack, type Arena, type BenchStack, type BenchStore } from "../support/stack.ts";

interface SoakOptions extends CommonOptions {
  readonly minutes: number;
  readonly share: number;
  readonly connections: number;
  readonly tokens: number;
  /** Seconds; undefined never kills. */
  readonly killEvery?: number;
}

/**
 * `bench soak`: long-running registrations at a share of the top rate; checks that every acknowledged one is
 * stored.
 */
export const soakCommand = (): Command => {
  const command = new Command("soak").description(
    "registrations for long, at a share of the top rate: memory, errors, and whether all that was acknowledged is stored",
  );
  command.option("--minutes <n>", "for how long", positive, 10);
  command.option("--share <percent>", "of the top rate, which is measured first", positive, 80);
  command.option("--connections <n>", "connections at once", positive, 64);
  command.option("--tokens <n>", "tokens that are registered in turn", positive, 500_000);
  command.option("--kill-every <seconds>", "kill the service with SIGKILL and start it again", positive);
  for (const option of commonOptions()) command.addOption(option);
  return command.action(async (options: SoakOptions) => {
    await using stack = await startStack(options.store, { forLatency: true });
    const found: Soak[] = [];
    for (const store of stack.stores) found.push(await measureSoak(stack, store, options));
    if (found.some(isBad)) process.exitCode = 1;
    print([reportSoak(found)], stack.broker.description, options);
  });
};

const topRateSeconds = 15;
/** The top rate is measured with fewer: the store in memory has to bear these too. */
const maxTokensForTopRate = 100_000;

const measureSoak = (stack: BenchStack, store: BenchStore, options: SoakOptions): Promise<Soak> =>
  inArena(stack, { store, topic: "bench.soak" }, async (arena, db) => {
    await using service = await startMortal(arena);
    return await Promise.race([soak(service, { store, arena, db, options }), service.died]);
  });

async function soak(
  service: MortalService,
  {
    store,
    arena,
    db,
    options,
  }: {
    readonly store: BenchStore;
    readonly arena: Arena;
    readonly db: Db;
    readonly options: SoakOptions;
  },
): Promise<Soak> {
  const { minutes, share, connections, tokens, killEvery } = options;
  const sentFile = join(arena.folder, "sent");
  const order = {
    ...{ url: service.url.href, template: httpService.template, connections, sentFile, seed: newSeed() },
    ...{ tokens: Math.min(tokens, maxTokensForTopRate), seconds: topRateSeconds },
  };
  // The first does not count: code is compiled.
  await runClients(arena, order);
  const { perSecond: topRate } = await runClients(arena, order);
  const rate = (topRate * share) / 100;
  progress(`${store.description}: ${Math.round(rate)}/s of ${Math.round(topRate)}/s for ${minutes} min`);

  const long = { ...order, seed: newSeed(), tokens, seconds: minutes * 60, rate };
  const over = new AbortController();
  const watching = watchMemory(service, over.signal);
  // In the end what is left over from the last kill has to come through.
  const kills = killEvery === undefined ? 0 : Math.ceil(long.seconds / killEvery) - 1;
  const killing = killAgainAndAgain(service, { times: kills, everyMs: (killEvery ?? 0) * 1_000 });
  const result = await runClients(arena, long).finally(() => {
    over.abort();
  });
  const [memory, killsTook] = await Promise.all([watching, killing]);
  progress(`${store.description}: looking every token up`);
  const check = await checkStored(db, long);
  return { store, topRate, rate, minutes, result, check, memory, kills: killsTook };
}

/** Runs the clients in a process of their own. */
async function runClients({ folder }: Arena, order: SoakOrder): Promise<SoakResult> {
  const orderFile = join(folder, "order.json");
  await writeFile(orderFile, JSON.stringify(order));
  const program = join(import.meta.dirname, "client.ts");
  const { code, stdout, stderr } = await runCommand(process.execPath, [program, orderFile]);
  if (code !== 0) throw new Error(`the clients failed:\n${lastLines(stderr, 10)}`);
  return JSON.parse(stdout) as SoakResult;
}

async function watchMemory(service: MortalService, signal: AbortSignal): Promise<number[]> {
  const samples: number[] = [];
  while (await waited(1_000, signal)) {
    const sample = readMemory(service.pid(), "VmRSS");
    // Just killed, it has none.
    if (!Number.isNaN(sample)) samples.push(sample);
  }
  return samples;
}

/** Gives how long each kill took, until the service accepted registrations again. */
async function killAgainAndAgain(
  service: MortalService,
  { times, everyMs }: { times: number; everyMs: number },
): Promise<number[]> {
  const took: number[] = [];
  const start = performance.now();
  while (took.length < times) {
    await sleep(start + everyMs * (took.length + 1) - performance.now());
    const ms = await service.killAndRestart();
    progress(`killed; it accepted registrations again after ${Math.round(ms)} ms`);
    took.push(ms);
  }
  return took;
}

/** False when the signal came first. */
const waited = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal }).catch(() => false);
