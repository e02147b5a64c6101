import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";

import { lastLines, runCommand } from "../../src/embedded/command.ts";
import { aimsReport, atLeast } from "../support/ratios.ts";
import { httpService, serviceUser } from "./contestants.ts";
import { findLoadGenerator, type Answers, type LoadGenerator } from "./load.ts";
import { registerAll, warmUp } from "./measure.ts";
import { randomToken } from "./request.ts";
import { whileServing, type Serving } from "./serving.ts";
import { commonOptions, positive, type CommonOptions } from "../support/options.ts";
import { print, progress, type Report } from "../support/report.ts";
import { inArena, startStack, type BenchStack, type BenchStore } from "../support/stack.ts";

interface FloodOptions extends CommonOptions {
  readonly good: number;
  readonly wrong: number;
  readonly seconds: number;
}

/** `bench flood`: the rate of good clients beside a flood of wrong passwords. */
export const floodCommand = (): Command => {
  const command = new Command("flood").description(
    "registrations per second of good clients, alone and beside a flood of wrong passwords",
  );
  command.option("--good <n>", "good clients, each its next as soon as the last is answered", positive, 32);
  command.option("--wrong <n>", "wrong passwords a second", positive, 200);
  command.option("--seconds <n>", "for how long, alone and again beside the flood", positive, 20);
  for (const option of commonOptions()) command.addOption(option);
  return command.action(async (options: FloodOptions) => {
    await using stack = await startStack(options.store, { forLatency: true });
    print(await measureFlood(stack, options), stack.broker.description, options);
  });
};

/** Where the flood comes from; the good clients come from 127.0.0.1. Linux answers on all of 127.0.0.0/8. */
const origins: Readonly<Record<string, readonly string[]>> = {
  "one other address": ["127.0.0.2"],
  "200 addresses": Array.from({ length: 200 }, (_, index) => `127.0.1.${index + 1}`),
  "the clients' address": ["127.0.0.1"],
};

/** How the wrong ones were answered; times are milliseconds. */
interface WrongAnswers {
  readonly statuses: Readonly<Record<string, number>>;
  readonly p50: number;
  readonly p99: number;
}

interface Found {
  readonly store: BenchStore;
  readonly origin: string;
  readonly alone: Answers;
  readonly beside: Answers;
  readonly wrong: WrongAnswers;
}

const poolSize = 2_000;
/** The flood begins before the measurement and ends after it. */
const leadSeconds = 1;

async function measureFlood(stack: BenchStack, options: FloodOptions): Promise<Report[]> {
  const generator = await findLoadGenerator(stack.toolsFolder);
  const found: Found[] = [];
  for (const store of stack.stores) {
    for (const [origin, addresses] of Object.entries(origins)) {
      progress(`${store.description}: a flood from ${origin}`);
      // Each in a process of its own: what the service remembers of one flood must not help it in the next.
      const one = await inArena(stack, { store, topic: "bench.flood" }, (arena) =>
        whileServing(httpService, arena, (serving) =>
          floodServing(serving, { ...options, generator, addresses, folder: arena.folder }),
        ),
      );
      found.push({ store, origin, ...one });
    }
  }
  const ratios = found.map(({ store, origin, alone, beside }) =>
    atLeast(0.5, {
      what: `good registrations/s beside the flood ÷ alone: ${store.kind}, from ${origin}`,
      ratio: beside.perSecond / alone.perSecond,
    }),
  );
  return [report(found, options, generator), aimsReport("flood", ratios, [])];
}

interface Flood extends FloodOptions {
  readonly generator: LoadGenerator;
  readonly addresses: readonly string[];
  readonly folder: string;
}

async function floodServing(
  serving: Serving,
  flood: Flood,
): Promise<Pick<Found, "alone" | "beside" | "wrong">> {
  const { good: connections, seconds, generator, folder } = flood;
  const { template } = httpService;
  const pool = Array.from({ length: poolSize }, randomToken);
  await registerAll(serving, httpService, pool);
  const load = { url: serving.url, template, folder, pool, connections };
  await generator.run({ ...load, ...warmUp });
  const alone = await generator.run({ ...load, seconds });
  const [wrong, beside] = await Promise.all([
    sendWrong(serving, flood),
    sleep(leadSeconds * 1_000).then(() => generator.run({ ...load, seconds })),
  ]);
  return { alone, beside, wrong };
}

async function sendWrong({ url }: Serving, { wrong, seconds, addresses }: Flood): Promise<WrongAnswers> {
  const { code, stdout, stderr } = await runCommand(process.execPath, [
    join(import.meta.dirname, "flood-client.ts"),
    ...[url.href, JSON.stringify(httpService.template), serviceUser.name],
    ...[String(wrong), String(seconds + 2 * leadSeconds), addresses.join(",")],
  ]);
  if (code !== 0) throw new Error(`the flood failed:\n${lastLines(stderr, 10)}`);
  return JSON.parse(stdout) as WrongAnswers;
}

const report = (
  found: readonly Found[],
  { good, wrong, seconds }: FloodOptions,
  { name }: LoadGenerator,
): Report => ({
  title: "flood",
  head: [
    "store",
    "flood from",
    "good/s alone",
    "beside",
    "p99, ms",
    "beside",
    "good refused, unanswered",
    "wrong answered",
    "p50, p99, ms",
  ],
  rows: found.map(({ store, origin, alone, beside, wrong: { statuses, p50, p99 } }) => [
    ...[store.description, origin, alone.perSecond.toFixed(0), beside.perSecond.toFixed(0)],
    ...[alone.p99.toFixed(1), beside.p99.toFixed(1), `${beside.refused}, ${beside.broken}`],
    Object.entries(statuses)
      .map(([status, count]) => `${status}: ${count}`)
      .join(", "),
    `${p50.toFixed(1)}, ${p99.toFixed(1)}`,
  ]),
  notes: [
    `${good} good clients (${name}) with repeated tokens, ${wrong} wrong passwords a second for ${seconds} s, half of them for the good clients' own user.`,
  ],
  data: found,
});
