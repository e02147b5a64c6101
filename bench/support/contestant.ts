import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { startProcess, type ServerCommand, type ServerProcess } from "@topicsync/embedded";
import { readCpuMicros } from "./process-usage.ts";
import type { Workspace } from "./stack.ts";

/** One way to bring announcements from Kafka into MongoDB. */
export interface Contestant {
  readonly name: string;
  command(workspace: Workspace): ServerCommand | Promise<ServerCommand>;
}

/** The service, whose command line program is `cli`. */
export const createService = (cli: string): Contestant => ({
  name: "service",
  command: ({ brokers, uri, topic, database, folder }) => ({
    command: process.execPath,
    // The option in the first line of the published program.
    args: ["--max-semi-space-size=16", cli, "start"],
    logFile: join(folder, "service.log"),
    env: {
      NODE_ENV: "production",
      LOG_LEVEL: "info",
      HTTP_PORT: "0",
      MONGODB_URI: uri,
      KAFKA_BROKERS: brokers,
      KAFKA_ANNOUNCEMENTS_TOPIC: topic,
      KAFKA_DEAD_LETTER_TOPIC: `${topic}.dead-letter`,
      KAFKA_GROUP_ID: database,
    },
  }),
});

/** The built service, as in production. */
export const service: Contestant = createService(join(import.meta.dirname, "../../dist/cli.js"));

/** Runs a contestant until `watch` resolves. Throws its last output if it exits earlier. */
export async function withContestant<T>(
  contestant: Contestant,
  workspace: Workspace,
  watch: (running: ServerProcess) => Promise<T>,
): Promise<T> {
  const running = await startProcess(await contestant.command(workspace));
  const ended = running.ended.then(async (how): Promise<never> => {
    throw new Error(`${contestant.name} ended: ${how}. Its last output:\n${await running.readLastOutput()}`);
  });
  // It also rejects after the watch, when nobody awaits it.
  ended.catch(() => undefined);
  try {
    return await Promise.race([watch(running), ended]);
  } finally {
    await running.stop();
  }
}

const pollIntervalMs = 20;

export interface Rate {
  readonly perSecond: number;
  /** CPU time of the contestant's processes per item. */
  readonly cpuMicros: number;
}

/**
 * Polls a counter until it reaches `count` and returns its growth per second and the CPU time of the process,
 * measured from the first value above 0, so that startup does not count.
 */
export async function measureRate(
  readCount: () => Promise<number | undefined>,
  count: number,
  pid: number,
): Promise<Rate> {
  let first: { at: number; cpu: number; seen: number } | undefined;
  for (;;) {
    const seen = (await readCount()) ?? 0;
    const [at, cpu] = [performance.now(), readCpuMicros(pid)];
    if (seen > 0) first ??= { at, cpu, seen };
    if (seen >= count && first !== undefined) {
      const items = count - first.seen;
      return { perSecond: (1_000 * items) / (at - first.at), cpuMicros: (cpu - first.cpu) / items };
    }
    await sleep(pollIntervalMs);
  }
}
