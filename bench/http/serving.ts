import { setTimeout as sleep } from "node:timers/promises";

import { freePort, localhost } from "../../src/embedded/tcp-port.ts";
import type { ServerProcess } from "../../src/embedded/process.ts";
import { withContestant } from "../support/contestant.ts";
import type { Registrar } from "./contestants.ts";
import { accepted, randomToken, register } from "./request.ts";
import type { Arena } from "../support/stack.ts";

/** A registrar that answers. */
export interface Serving {
  readonly url: URL;
  readonly pid: number;
}

const maxStartMs = 60_000;

/** Where a registrar can be made to listen. */
export async function freeAddress(): Promise<{ url: URL; port: number }> {
  const port = await freePort();
  return { url: new URL(`http://${localhost}:${port}`), port };
}

/**
 * Runs a registrar for as long as `watch` takes, which begins when it has accepted a registration. Throws its
 * last output.
 */
export async function whileServing<T>(
  registrar: Registrar,
  arena: Arena,
  watch: (serving: Serving) => Promise<T>,
): Promise<T> {
  const { url, port } = await freeAddress();
  const contestant = { name: registrar.name, command: () => registrar.command(arena, port) };
  return withContestant(contestant, arena, async (running) => {
    await untilServing(registrar, url, running);
    return watch({ url, pid: running.pid });
  });
}

/** Waits until it accepts a registration. Throws its last output when that takes too long. */
export async function untilServing(registrar: Registrar, url: URL, running: ServerProcess): Promise<void> {
  const deadline = Date.now() + maxStartMs;
  for (;;) {
    const answer = await sendProbe(url, registrar);
    if (typeof answer === "number" && accepted(answer)) return;
    if (Date.now() > deadline) {
      const output = await running.lastOutput();
      throw new Error(`${registrar.name} accepts nothing: ${answer}. Its last output:\n${output}`);
    }
    await sleep(50);
  }
}

async function sendProbe(url: URL, { template }: Registrar): Promise<number | string> {
  try {
    return await register(url, template, randomToken());
  } catch (error) {
    return String(error);
  }
}
