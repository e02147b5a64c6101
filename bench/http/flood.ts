import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";

import { getLastLines, runCommand } from "@topicsync/embedded";
import { httpService, serviceUser } from "./contestants.ts";
import { findLoadGenerator, type LoadResult, type LoadGenerator } from "./load.ts";
import { registerAll, warmUp } from "./measure.ts";
import { randomToken } from "./request.ts";
import { withServing, type Serving } from "./serving.ts";
import { createCommonOptions, parsePositive, type CommonOptions } from "../support/options.ts";
import { atLeast, printReports, reportProgress, reportTargets, type Report } from "../support/report.ts";
import { withWorkspace, startStack, type BenchStack, type BenchStore } from "../support/stack.ts";

interface FloodOptions extends CommonOptions {
  readonly good: number;
  readonly wrong: number;
  readonly seconds: number;
}

export const floodCommand = (): Command => {
  const command = new Command("flood").description(
    "registrations per second of regular clients, alone and during a flood of wrong passwords",
  );
  command.option("--good <n>", "regular clients, each with one request in flight", parsePositive, 32);
  command.option("--wrong <n>", "wrong passwords per second", parsePositive, 200);
  command.option(
    "--seconds <n>",
    "duration of each measurement in seconds, alone and during the flood",
    parsePositive,
    20,
  );
  for (const option of createCommonOptions()) command.addOption(option);
  return command.action(async (options: FloodOptions) => {
    await using stack = await startStack(options.store, { forLatency: true });
    printReports(await measureFlood(stack, options), stack.broker.description, options);
  });
};

/** The flood's addresses; the regular clients use 127.0.0.1. Linux serves all of 127.0.0.0/8. */
const origins: Readonly<Record<string, readonly string[]>> = {
  "one other address": ["127.0.0.2"],
  "200 addresses": Array.from({ length: 200 }, (_, index) => `127.0.1.${index + 1}`),
  "the clients' address": ["127.0.0.1"],
};

/** The responses to the wrong passwords; times are in ms. */
interface FloodResult {
  readonly statuses: Readonly<Record<string, number>>;
  readonly p50: number;
  readonly p99: number;
}

interface Found {
  readonly store: BenchStore;
  readonly origin: string;
  readonly alone: LoadResult;
  readonly during: LoadResult;
  readonly wrong: FloodResult;
}

const poolSize = 2_000;
/** The flood starts this long before the measurement and ends this long after it. */
const leadSeconds = 1;

async function measureFlood(stack: BenchStack, options: FloodOptions): Promise<Report[]> {
  const generator = await findLoadGenerator(stack.toolsFolder);
  const found: Found[] = [];
  for (const store of stack.stores) {
    for (const [origin, addresses] of Object.entries(origins)) {
      reportProgress(`${store.description}: flood from ${origin}`);
      // A new service each time, because it remembers the failed logins of a flood.
      const one = await withWorkspace(stack, { store, topic: "bench.flood" }, (workspace) =>
        withServing(httpService, workspace, (serving) =>
          floodServing(serving, { ...options, generator, addresses, folder: workspace.folder }),
        ),
      );
      found.push({ store, origin, ...one });
    }
  }
  const ratios = found.map(({ store, origin, alone, during }) =>
    atLeast(0.5, {
      what: `registrations/s during the flood ÷ alone: ${store.kind}, from ${origin}`,
      ratio: during.perSecond / alone.perSecond,
    }),
  );
  return [reportFlood(found, options, generator), reportTargets("flood", ratios, [])];
}

interface Flood extends FloodOptions {
  readonly generator: LoadGenerator;
  readonly addresses: readonly string[];
  readonly folder: string;
}

async function floodServing(
  serving: Serving,
  flood: Flood,
): Promise<Pick<Found, "alone" | "during" | "wrong">> {
  const { good: connections, seconds, generator, folder } = flood;
  const { template } = httpService;
  const pool = Array.from({ length: poolSize }, randomToken);
  await registerAll(serving, httpService, pool);
  const load = { url: serving.url, template, folder, pool, connections };
  await generator.run({ ...load, ...warmUp });
  const alone = await generator.run({ ...load, seconds });
  const [wrong, during] = await Promise.all([
    sendWrong(serving, flood),
    sleep(leadSeconds * 1_000).then(() => generator.run({ ...load, seconds })),
  ]);
  return { alone, during, wrong };
}

async function sendWrong({ url }: Serving, { wrong, seconds, addresses }: Flood): Promise<FloodResult> {
  const { code, stdout, stderr } = await runCommand(process.execPath, [
    join(import.meta.dirname, "flood-client.ts"),
    url.href,
    JSON.stringify(httpService.template),
    serviceUser.name,
    String(wrong),
    String(seconds + 2 * leadSeconds),
    addresses.join(","),
  ]);
  if (code !== 0) throw new Error(`the flood failed:\n${getLastLines(stderr, 10)}`);
  return JSON.parse(stdout) as FloodResult;
}

const reportFlood = (
  found: readonly Found[],
  { good, wrong, seconds }: FloodOptions,
  { name }: LoadGenerator,
): Report => ({
  title: "flood",
  head: [
    "store",
    "flood from",
    "registrations/s alone",
    "during",
    "p99, ms, alone",
    "during",
    "rejected, no response",
    "responses to the flood",
    "their p50, p99, ms",
  ],
  rows: found.map(({ store, origin, alone, during, wrong: { statuses, p50, p99 } }) => [
    store.description,
    origin,
    alone.perSecond.toFixed(0),
    during.perSecond.toFixed(0),
    alone.p99.toFixed(1),
    during.p99.toFixed(1),
    `${during.rejected}, ${during.broken}`,
    Object.entries(statuses)
      .map(([status, count]) => `${status}: ${count}`)
      .join(", "),
    `${p50.toFixed(1)}, ${p99.toFixed(1)}`,
  ]),
  notes: [
    `${good} regular clients (${name}) with repeated tokens, ${wrong} wrong passwords per second for ${seconds} s, half of them for the clients' own user.`,
  ],
  data: found,
});
