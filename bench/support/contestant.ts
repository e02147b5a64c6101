import { setTimeout as sleep } from "node:timers/promises";

import { startProcess, type ServerCommand, type ServerProcess } from "../../src/embedded/process.ts";
import type { Arena } from "./stack.ts";

/** One way to bring announcements from Kafka into MongoDB. */
export interface Contestant {
  readonly name: string;
  command(arena: Arena): ServerCommand | Promise<ServerCommand>;
}

/** Runs a contestant for as long as `watch` takes. Throws its last output when it ends before. */
export async function withContestant<T>(
  contestant: Contestant,
  arena: Arena,
  watch: (running: ServerProcess) => Promise<T>,
): Promise<T> {
  const running = await startProcess(await contestant.command(arena));
  const ended = running.ended.then(async (how): Promise<never> => {
    throw new Error(`${contestant.name} ended: ${how}. Its last output:\n${await running.lastOutput()}`);
  });
  // It ends in any case, after the watch.
  ended.catch(() => undefined);
  try {
    return await Promise.race([watch(running), ended]);
  } finally {
    await running.stop();
  }
}

/** How often a count is looked at: 0.02 s of the seconds that are measured. */
const lookEveryMs = 20;

/**
 * Something that grows until it reaches `count`, timed from the first of it that is seen to the last: what a
 * start takes does not count. Gives the growth per second.
 */
export async function measureRate(look: () => Promise<number | undefined>, count: number): Promise<number> {
  let first: { at: number; seen: number } | undefined;
  for (;;) {
    const seen = (await look()) ?? 0;
    const at = performance.now();
    if (seen > 0) first ??= { at, seen };
    if (seen >= count && first !== undefined) return (1_000 * (count - first.seen)) / (at - first.at);
    await sleep(lookEveryMs);
  }
}
