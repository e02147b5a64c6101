import type { Db } from "mongodb";

import type { Registrar } from "./contestants.ts";
import type { Answers, LoadGenerator } from "./load.ts";
import { accepted, randomToken, register } from "./request.ts";
import { whileServing, type Serving } from "./serving.ts";
import { readProcessorTime } from "../support/process-usage.ts";
import { inArena, type Arena, type BenchStack, type BenchStore } from "../support/stack.ts";

/** One measurement. */
export interface Measurement {
  readonly store: BenchStore;
  readonly connections: number;
  readonly tokens: "new" | "repeated";
  readonly round: number;
  readonly registrar: string;
  readonly found: Figures;
}

export interface Figures extends Answers {
  /** Of the server, user and system, for each registration; microseconds. */
  readonly processorTime: number;
  /** Accepted registrations of new tokens that are not in the store. */
  readonly missing: number;
}

/** Any failed request invalidates the rate. */
export const isInvalid = ({ refused, broken, missing }: Figures): boolean => refused + broken + missing > 0;

/** Before each measurement: connections are opened, and code is compiled. */
export const warmUp = { connections: 64, seconds: 5 };

export interface Task {
  readonly store: BenchStore;
  readonly registrar: Registrar;
  readonly generator: LoadGenerator;
  readonly connections: number;
  readonly seconds: number;
  /** The number of tokens to register repeatedly; undefined registers new ones. */
  readonly pool: number | undefined;
}

/** In a database and a process of its own. */
export const measureRegistrar = (stack: BenchStack, task: Task): Promise<Figures> =>
  inArena(stack, { store: task.store, topic: "bench.http" }, (arena, db) =>
    whileServing(task.registrar, arena, (serving) => measureServing(task, { serving, arena, db })),
  );

async function measureServing(
  { registrar, generator, connections, seconds, pool: poolSize }: Task,
  { serving, arena, db }: { serving: Serving; arena: Arena; db: Db },
): Promise<Figures> {
  const { url, pid } = serving;
  const load = { url, template: registrar.template, folder: arena.folder };
  const pool = poolSize === undefined ? undefined : Array.from({ length: poolSize }, randomToken);
  if (pool !== undefined) await registerAll(serving, registrar, pool);
  await generator.run({ ...load, ...warmUp, ...(pool && { pool }) });
  const stored = (): Promise<number> => db.collection(registrar.collection).estimatedDocumentCount();
  const storedBefore = await stored();
  const timeBefore = readProcessorTime(pid);
  const answers = await generator.run({ ...load, connections, seconds, ...(pool && { pool }) });
  const time = readProcessorTime(pid) - timeBefore;
  const missing = pool === undefined ? Math.max(0, answers.accepted - ((await stored()) - storedBefore)) : 0;
  return { ...answers, processorTime: time / answers.accepted, missing };
}

/** Registers every token of the pool once. */
export async function registerAll(
  { url }: Serving,
  registrar: Registrar,
  pool: readonly string[],
): Promise<void> {
  const rest = pool.values();
  const registerRest = async (): Promise<void> => {
    for (const token of rest) {
      const status = await register(url, registrar.template, token);
      if (!accepted(status)) throw new Error(`${registrar.name} answered a registration with ${status}`);
    }
  };
  await Promise.all(Array.from({ length: warmUp.connections }, registerRest));
}
