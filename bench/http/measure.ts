import type { Db } from "mongodb";

import type { RegistrationServer } from "./contestants.ts";
import type { LoadResult, LoadGenerator } from "./load.ts";
import { isAccepted, randomToken, register } from "./request.ts";
import { withServing, type Serving } from "./serving.ts";
import { readCpuMicros } from "../support/process-usage.ts";
import { withWorkspace, type Workspace, type BenchStack, type BenchStore } from "../support/stack.ts";

export interface Measurement {
  readonly store: BenchStore;
  readonly connections: number;
  readonly tokens: "new" | "repeated";
  readonly round: number;
  readonly server: string;
  readonly found: Figures;
}

export interface Figures extends LoadResult {
  /** User and system time of the server per registration. */
  readonly cpuMicros: number;
  /** Accepted new tokens that are not in the store. */
  readonly missing: number;
}

/** Any failed request invalidates the rate. */
export const isInvalid = ({ rejected, broken, missing }: Figures): boolean => rejected + broken + missing > 0;

/** Precedes each measurement, to open connections and compile code. */
export const warmUp = { connections: 64, seconds: 5 };

export interface Task {
  readonly store: BenchStore;
  readonly server: RegistrationServer;
  readonly generator: LoadGenerator;
  readonly connections: number;
  readonly seconds: number;
  /** The number of tokens to register repeatedly; undefined registers new ones. */
  readonly pool: number | undefined;
}

/** Uses a new database and a new process. */
export const measureServer = (stack: BenchStack, task: Task): Promise<Figures> =>
  withWorkspace(stack, { store: task.store, topic: "bench.http" }, (workspace, db) =>
    withServing(task.server, workspace, (serving) => measureServing(task, { serving, workspace, db })),
  );

async function measureServing(
  { server, generator, connections, seconds, pool: poolSize }: Task,
  { serving, workspace, db }: { serving: Serving; workspace: Workspace; db: Db },
): Promise<Figures> {
  const { url, pid } = serving;
  const load = { url, template: server.template, folder: workspace.folder };
  const pool = poolSize === undefined ? undefined : Array.from({ length: poolSize }, randomToken);
  if (pool !== undefined) await registerAll(serving, server, pool);
  await generator.run({ ...load, ...warmUp, ...(pool && { pool }) });
  const stored = (): Promise<number> => db.collection(server.collection).estimatedDocumentCount();
  const storedBefore = await stored();
  const timeBefore = readCpuMicros(pid);
  const result = await generator.run({ ...load, connections, seconds, ...(pool && { pool }) });
  const time = readCpuMicros(pid) - timeBefore;
  const missing = pool === undefined ? Math.max(0, result.accepted - ((await stored()) - storedBefore)) : 0;
  return { ...result, cpuMicros: time / result.accepted, missing };
}

/** Registers every token of the pool once. */
export async function registerAll(
  { url }: Serving,
  server: RegistrationServer,
  pool: readonly string[],
): Promise<void> {
  const rest = pool.values();
  const registerRest = async (): Promise<void> => {
    for (const token of rest) {
      const status = await register(url, server.template, token);
      if (!isAccepted(status)) throw new Error(`${server.name} responded to a registration with ${status}`);
    }
  };
  await Promise.all(Array.from({ length: warmUp.connections }, registerRest));
}
