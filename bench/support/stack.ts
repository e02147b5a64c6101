import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { MongoClient, type Db } from "mongodb";

import { runCommand, startBroker, startStore, type Running } from "@topicsync/embedded";
import { readConfig } from "../../src/config/config.ts";
import { ensureIndexes } from "../../src/storage/indexes.ts";
import { startMemoryStore } from "./memory-store.ts";
import type { StoreChoice } from "./options.ts";
import { reportProgress } from "./report.ts";

/** A store to measure on. */
export interface BenchStore {
  readonly kind: "embedded" | "memory";
  readonly description: string;
  readonly address: string;
  /** Of its process; undefined in a container. */
  readonly pid?: number | undefined;
}

/** A broker and stores, stopped when it is disposed of. */
export interface BenchStack extends AsyncDisposable {
  readonly broker: Running;
  readonly stores: readonly BenchStore[];
  /** For downloaded programs. */
  readonly toolsFolder: string;
  readonly folder: string;
}

/** What a contestant reads from and writes to. */
export interface Workspace {
  readonly brokers: string;
  /** Includes the database. */
  readonly uri: string;
  readonly database: string;
  readonly topic: string;
  /** For its files. */
  readonly folder: string;
  readonly toolsFolder: string;
}

/**
 * Builds the service and starts an empty broker and empty stores. `forLatency` shortens the pauses of the
 * store in memory; `gigabytes` is its heap.
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
      if (done === undefined) reportProgress(step);
    },
  };
  const broker = await use(startBroker({ ...options, dataFolder: join(folder, "broker") }));
  const stores: BenchStore[] = [];
  if (choice !== "memory") {
    const { description, address, pid } = await use(
      startStore({ ...options, dataFolder: join(folder, "store") }),
    );
    stores.push({ kind: "embedded", description, address, pid });
  }
  if (choice !== "embedded") {
    const { description, address, pid } = await use(
      startMemoryStore({ ...options, forLatency, gigabytes, dataFolder: join(folder, "memory") }),
    );
    stores.push({ kind: "memory", description, address, pid });
  }
  const running = started.move();
  return {
    broker,
    stores,
    toolsFolder,
    folder,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

let workspaceCount = 0;

/**
 * Runs something with an empty database and its indexes: not every contestant creates them itself, and an
 * upsert without them scans the collection.
 */
export async function withWorkspace<T>(
  stack: BenchStack,
  { store, topic }: { store: BenchStore; topic: string },
  run: (workspace: Workspace, db: Db) => Promise<T>,
): Promise<T> {
  const database = `bench${(workspaceCount += 1)}`;
  const uri = new URL(store.address);
  uri.pathname = `/${database}`;
  const { toolsFolder } = stack;
  const folder = join(stack.folder, database);
  const client = new MongoClient(uri.href);
  try {
    await ensureIndexes(client.db());
    const workspace = { brokers: stack.broker.address, uri: uri.href, database, topic, folder, toolsFolder };
    return await run(workspace, client.db());
  } finally {
    // Frees memory. SecantusDB takes minutes to drop a large database, and its files are deleted anyway.
    if (store.kind === "memory") await client.db().dropDatabase();
    await client.close();
  }
}

async function build(): Promise<void> {
  reportProgress("building the service");
  const { code, stdout } = await runCommand("npm", [
    "--prefix",
    join(import.meta.dirname, "../.."),
    "run",
    "build",
  ]);
  if (code !== 0) throw new Error(`the build failed:\n${stdout}`);
}
