/**
 * `npm run bench`: announcements per second of the service against the floor, on the same broker and the same stores, in one
 * run, and the service's memory when it is idle. `npm run bench -- --help` tells the options.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { arch, cpus, tmpdir, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import Table from "cli-table3";
import { Command, InvalidArgumentError } from "commander";
import { MongoClient } from "mongodb";

import { readConfig } from "../src/config.ts";
import { startBroker, startStore } from "../src/stack/resolve.ts";
import type { Running } from "../src/stack/stack.ts";
import { end, memoryOf, startFloor, startService, type Arena } from "./contestants.ts";
import { fillLog, type Log } from "./load.ts";
import { startMemoryStore } from "./memory-store.ts";

const { announcements, rounds } = new Command("npm run bench --")
  .description("Measures the sync against a bare consumer with one insertMany per batch, side by side.")
  .option("--announcements <n>", "announcements of each measurement", positive, 20_000)
  .option("--rounds <n>", "measurements of each contestant; the median counts", positive, 3)
  .parse()
  .opts<{ announcements: number; rounds: number }>();

const idleMs = 20_000;
/** The store in memory is so fast that it gets more to do. */
const memoryStoreFactor = 5;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

function positive(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("It must be a positive number.");
  return Number(text);
}

/** Announcements per second, from the first stored ones that are seen to the last. */
async function rateOf(start: typeof startService, arena: Arena, { count }: Log): Promise<number> {
  const client = new MongoClient(arena.uri);
  const topics = client.db().collection("svc_api_notif_mgmt_topic");
  const child = start(arena);
  let first: { at: number; stored: number } | undefined;
  try {
    for (;;) {
      const stored = await topics.estimatedDocumentCount();
      const at = performance.now();
      if (stored > 0) first ??= { at, stored };
      if (stored >= count && first !== undefined) return (1_000 * (count - first.stored)) / (at - first.at);
      if (child.exitCode !== null) throw new Error(`a contestant ended with ${child.exitCode}`);
      await sleep(20);
    }
  } finally {
    await end(child);
    await client.db().dropDatabase();
    await client.close();
  }
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

let arenas = 0;
function arenaOn(store: Running, brokers: string, topic: string): Arena {
  const uri = new URL(store.address);
  uri.pathname = `/bench${(arenas += 1)}`;
  return { brokers, uri: uri.href, topic };
}

async function compare(store: Running, brokers: string, log: Log): Promise<(string | number)[]> {
  const floors: number[] = [];
  const services: number[] = [];
  // The first round of each finds cold caches, above all a cold Java: it does not count.
  for (let round = 0; round <= rounds; round += 1) {
    const floor = await rateOf(startFloor, arenaOn(store, brokers, log.topic), log);
    const service = await rateOf(startService, arenaOn(store, brokers, log.topic), log);
    if (round === 0) continue;
    say(
      `${store.description}, round ${round}: floor ${Math.round(floor)}/s, service ${Math.round(service)}/s, ratio ${(service / floor).toFixed(2)}`,
    );
    floors.push(floor);
    services.push(service);
  }
  const ratios = services.map((service, i) => service / (floors[i] ?? NaN));
  return [
    store.description,
    Math.round(median(floors)),
    Math.round(median(services)),
    median(ratios).toFixed(2),
  ];
}

async function idleMemory(store: Running, brokers: string): Promise<number | undefined> {
  const child = startService(arenaOn(store, brokers, "bench.idle"));
  await sleep(idleMs);
  const memory = memoryOf(child);
  await end(child);
  return memory;
}

async function bench(): Promise<void> {
  execFileSync("npm", ["run", "--silent", "build"], {
    stdio: "inherit",
    cwd: join(import.meta.dirname, ".."),
  });
  const { stack } = readConfig(process.env);
  const folder = mkdtempSync(join(tmpdir(), "topicsync-bench-"));
  await using started = new AsyncDisposableStack();
  started.defer(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const options = {
    ...stack,
    toolsFolder: resolve(import.meta.dirname, "../.topicsync/tools"),
    report: (step: string, done?: number) => {
      if (done === undefined) say(step);
    },
  };
  const use = async <R extends Running>(starting: Promise<R>): Promise<R> => {
    const running = await starting;
    started.defer(async () => {
      await running.stop();
      await running.removeData?.();
    });
    return running;
  };
  const broker = await use(startBroker({ ...options, dataFolder: join(folder, "broker") }));
  const store = await use(startStore({ ...options, dataFolder: join(folder, "store") }));
  const memoryStore = await use(startMemoryStore({ ...options, dataFolder: join(folder, "memory") }));

  const log = await fillLog(broker.address, "bench.announcements", announcements);
  const longLog = await fillLog(
    broker.address,
    "bench.more-announcements",
    memoryStoreFactor * announcements,
  );
  const table = new Table({
    head: ["store", "floor, announcements/s", "service, announcements/s", "service ÷ floor"],
    style: { head: [], border: [] },
  });
  table.push(await compare(store, broker.address, log));
  table.push(await compare(memoryStore, broker.address, longLog));
  const memory = await idleMemory(store, broker.address);

  const processors = cpus();
  say("");
  say(
    `${new Date().toISOString().slice(0, 10)}, ${processors.length} × ${processors[0]?.model ?? arch()}, ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
      `Node ${process.version}, ${broker.description}; ${announcements} announcements (${memoryStoreFactor} times as many in memory), median of ${rounds}`,
  );
  say(table.toString());
  say(`Memory of the service, idle for ${idleMs / 1_000} s: ${memory ?? "unknown"} MB`);
}

await bench();
