import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { MongoClient, type Db } from "mongodb";

import { readConfig } from "../../src/config.ts";
import { runCommand } from "../../src/embedded/command.ts";
import { startBroker, startStore } from "../../src/embedded/resolve.ts";
import type { Running } from "../../src/embedded/stack.ts";
import { ensureIndexes } from "../../src/storage/indexes.ts";
import { startMemoryStore } from "./memory-store.ts";
import type { StoreChoice } from "./options.ts";
import { progress } from "./report.ts";

/** A store to measure on. */
export interface BenchStore {
  readonly kind: "embedded" | "memory";
  readonly description: string;
  readonly address: string;
}

/** What is measured on. Everything of it ends when it is disposed of. */
export interface BenchStack extends AsyncDisposable {
  readonly broker: Running;
  readonly stores: readonly BenchStore[];
  /** For what a contestant needs to run. */
  readonly toolsFolder: string;
  readonly folder: string;
}

/** Where a contestant reads and writes. */
export interface Arena {
  readonly brokers: string;
  /** With a database of its own. */
  readonly uri: string;
  readonly database: string;
  readonly topic: string;
  /** For its files. */
  readonly folder: string;
  readonly toolsFolder: string;
}

/**
 * Builds the service and starts a broker and the stores, all of them new and empty. `forLatency` trims the
 * store in memory for short pauses; it has so many `gigabytes`.
 */
export async function startStack(
  choice: StoreChoice,
  { forLatency = false, gigabytes = 4 }: { forLatency?: boolean; gigabytes?: number } = {},
): Promise<BenchStack> {
  await build();
  await using started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "topicsync-bench-"));
  started.defer(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const use = async <R extends Running>(starting: Promise<R>): Promise<R> => {
    const running = await starting;
    started.defer(async () => {
      await running.stop();
      await running.removeData?.();
    });
    return running;
  };
  const { stack } = readConfig(process.env);
  const toolsFolder = resolve(import.meta.dirname, "../../.topicsync/tools");
  const options = {
    ...stack,
    toolsFolder,
    report: (step: string, done?: number) => {
      if (done === undefined) progress(step);
    },
  };
  const broker = await use(startBroker({ ...options, dataFolder: join(folder, "broker") }));
  const stores: BenchStore[] = [];
  if (choice !== "memory") {
    const { description, address } = await use(startStore({ ...options, dataFolder: join(folder, "store") }));
    stores.push({ kind: "embedded", description, address });
  }
  if (choice !== "embedded") {
    const { description, address } = await use(
      startMemoryStore({ ...options, forLatency, gigabytes, dataFolder: join(folder, "memory") }),
    );
    stores.push({ kind: "memory", description, address });
  }
  const running = started.move();
  return {
    ...{ broker, stores, toolsFolder, folder },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

let arenas = 0;

/**
 * Runs something in an arena that nobody has used. The indexes are there from the beginning: not every
 * contestant makes them itself, and an upsert without them looks at every record.
 */
export async function inArena<T>(
  stack: BenchStack,
  { store, topic }: { store: BenchStore; topic: string },
  run: (arena: Arena, db: Db) => Promise<T>,
): Promise<T> {
  const database = `bench${(arenas += 1)}`;
  const uri = new URL(store.address);
  uri.pathname = `/${database}`;
  const { toolsFolder } = stack;
  const folder = join(stack.folder, database);
  const client = new MongoClient(uri.href);
  try {
    await ensureIndexes(client.db());
    const arena = { brokers: stack.broker.address, uri: uri.href, database, topic, folder, toolsFolder };
    return await run(arena, client.db());
  } finally {
    // It takes memory there; from SecantusDB's disk it goes with the store, which takes minutes to drop a
    // large one.
    if (store.kind === "memory") await client.db().dropDatabase();
    await client.close();
  }
}

/** Published is what is built, so that is what is measured. */
async function build(): Promise<void> {
  progress("building the service");
  const { code, stdout } = await runCommand("npm", [
    "--prefix",
    join(import.meta.dirname, "../.."),
    "run",
    "build",
  ]);
  if (code !== 0) throw new Error(`the service cannot be built:\n${stdout}`);
}
