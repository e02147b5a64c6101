import { setTimeout as sleep } from "node:timers/promises";

import { findFreePort, localhost, type ServerProcess } from "@topicsync/embedded";
import { withContestant } from "../support/contestant.ts";
import type { RegistrationServer } from "./contestants.ts";
import { isAccepted, randomToken, register } from "./request.ts";
import type { Workspace } from "../support/stack.ts";

export interface Serving {
  readonly url: URL;
  readonly pid: number;
}

const maxStartMs = 60_000;

export async function findFreeAddress(): Promise<{ url: URL; port: number }> {
  const port = await findFreePort();
  return { url: new URL(`http://${localhost}:${port}`), port };
}

/**
 * Runs a server and calls `watch` once it accepts registrations. Throws its last output if it fails.
 */
export async function withServing<T>(
  server: RegistrationServer,
  workspace: Workspace,
  watch: (serving: Serving) => Promise<T>,
): Promise<T> {
  const { url, port } = await findFreeAddress();
  const contestant = { name: server.name, command: () => server.command(workspace, port) };
  return withContestant(contestant, workspace, async (running) => {
    await waitUntilServing(server, url, running);
    return watch({ url, pid: running.pid });
  });
}

/** Waits until it accepts a registration. Throws its last output after a minute. */
export async function waitUntilServing(
  server: RegistrationServer,
  url: URL,
  running: ServerProcess,
): Promise<void> {
  const deadline = Date.now() + maxStartMs;
  for (;;) {
    const status = await sendProbe(url, server);
    if (typeof status === "number" && isAccepted(status)) return;
    if (Date.now() > deadline) {
      const output = await running.readLastOutput();
      throw new Error(`${server.name} accepts no registration: ${status}. Its last output:\n${output}`);
    }
    await sleep(50);
  }
}

async function sendProbe(url: URL, { template }: RegistrationServer): Promise<number | string> {
  try {
    return await register(url, template, randomToken());
  } catch (error) {
    return String(error);
  }
}
