import { once } from "node:events";
import { createServer } from "node:net";

import getPort from "get-port";

import { getErrorMessage } from "../lib/errors.ts";

export const localhost = "127.0.0.1";

const tries = 3;

/**
 * Starts something on the wanted port of 127.0.0.1, or else on free ones, trying again when somebody else takes one between our look and
 * the server's. Throws when the wanted port is taken.
 */
export async function withFreePort<T>(
  wanted: number | undefined,
  start: (port: number) => Promise<T>,
): Promise<T> {
  if (wanted !== undefined) {
    // Another server there could be taken for the one that we start.
    await checkFree(wanted);
    return start(wanted);
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (attempt === tries || !/address (is )?already in use/i.test(getErrorMessage(error))) throw error;
    }
  }
}

/** A port of 127.0.0.1 that nothing listens on now. */
export const freePort = (): Promise<number> => getPort({ host: localhost });

async function checkFree(port: number): Promise<void> {
  const server = createServer();
  try {
    await once(server.listen(port, localhost), "listening");
  } catch (error) {
    throw new Error(`port ${port} of ${localhost} cannot be served: ${getErrorMessage(error)}`, {
      cause: error,
    });
  }
  server.close();
  await once(server, "close");
}
