import { once } from "node:events";
import { createServer } from "node:net";

import getPort, { portNumbers } from "get-port";

import { getErrorMessage } from "../lib/errors.ts";

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
const portCount = 10_000;
/** Each process looks elsewhere, so that two that start at the same time find different ports. */
const portsPerProcess = 100;

/** Returns a port of 127.0.0.1 that is free now. */
export function findFreePort(): Promise<number> {
  const from = firstPort + ((process.pid * portsPerProcess) % portCount);
  return getPort({ host: localhost, port: portNumbers(from, from + portsPerProcess - 1) });
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
