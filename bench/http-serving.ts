import { setTimeout as sleep } from "node:timers/promises";

import { freePort, localhost } from "../src/stack/ports.ts";
import { withContestant } from "./contestant.ts";
import type { Registrar } from "./http-contestants.ts";
import { accepted, randomToken, register } from "./http-request.ts";
import type { Arena } from "./stack.ts";

/** A registrar that answers. */
export interface Serving {
  readonly url: URL;
  readonly pid: number;
}

const longestStartMs = 60_000;

/** Runs a registrar for as long as `watch` takes, which begins when it has accepted a registration. Throws its last output. */
export async function whileServing<T>(
  registrar: Registrar,
  arena: Arena,
  watch: (serving: Serving) => Promise<T>,
): Promise<T> {
  const port = await freePort();
  const url = new URL(`http://${localhost}:${port}`);
  const contestant = { name: registrar.name, command: () => registrar.command(arena, port) };
  return withContestant(contestant, arena, async (running) => {
    const deadline = Date.now() + longestStartMs;
    for (;;) {
      const answer = await answerOf(url, registrar);
      if (typeof answer === "number" && accepted(answer)) break;
      if (Date.now() > deadline)
        throw new Error(
          `${registrar.name} accepts nothing: ${answer}. Its last output:\n${await running.lastOutput()}`,
        );
      await sleep(50);
    }
    return watch({ url, pid: running.pid });
  });
}

async function answerOf(url: URL, { template }: Registrar): Promise<number | string> {
  try {
    return await register(url, template, randomToken());
  } catch (error) {
    return String(error);
  }
}
