import { once } from "node:events";
import { createServer } from "node:net";

import getPort, { portNumbers } from "get-port";

import { getErrorMessage } from "@topicsync/lib/errors";

export const localhost = "127.0.0.1";

const maxAttempts = 3;

/**
 * Starts a server on the given port of 127.0.0.1, or on a free one, with retries if another process takes the
 * port first. Throws if the given port is in use.
 */
export async function withFreePort<T>(
  given: number | undefined,
  start: (port: number) => Promise<T>,
): Promise<T> {
  if (given !== undefined) {
    // Another server on the port could be mistaken for the new one.
    await assertFree(given);
    return start(given);
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await findFreePort());
    } catch (error) {
      if (attempt === maxAttempts || !/address (is )?already in use/i.test(getErrorMessage(error)))
        throw error;
    }
  }
}

/**
 * Systems take the ports of outgoing connections from 32768 on. Below, no client takes the port before the
 * server listens, or while it restarts.
 */
const firstPort = 15_000;
const rangeCount = 100;
const portsPerRange = 100;

/** The range of this process: others look elsewhere, also while a server has not bound its port yet. */
let range: Promise<number> | undefined;
let lastPort = 0;

/** Returns a port of 127.0.0.1 that is free now, and that no other process looks for. */
export async function findFreePort(): Promise<number> {
  const from = await (range ??= claimRange());
  const next = from + 1 + ((Math.max(lastPort, from) - from) % (portsPerRange - 1));
  const ports = [...portNumbers(next, from + portsPerRange - 1), ...portNumbers(from + 1, next)];
  lastPort = await getPort({ host: localhost, port: ports });
  return lastPort;
}

/** Returns the first port of a range that no other process has. Listens on it until the process ends. */
async function claimRange(): Promise<number> {
  for (let at = process.pid; at < process.pid + rangeCount; at++) {
    const from = firstPort + (at % rangeCount) * portsPerRange;
    const server = createServer((socket) => socket.destroy()).unref();
    try {
      await once(server.listen({ host: localhost, port: from, exclusive: true }), "listening");
      return from;
    } catch {
      // Another process has it.
    }
  }
  throw new Error(`all ranges of ports from ${firstPort} on are in use`);
}

async function assertFree(port: number): Promise<void> {
  const server = createServer();
  try {
    await once(server.listen(port, localhost), "listening");
  } catch (error) {
    throw new Error(`cannot listen on port ${port} of ${localhost}: ${getErrorMessage(error)}`, {
      cause: error,
    });
  }
  server.close();
  await once(server, "close");
}
