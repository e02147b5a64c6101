import { getErrorMessage } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { repeat, type Cancel } from "@topicsync/lib/platform";
import type { FollowedSockets } from "./sockets.ts";

const pollIntervalMs = 5_000;

/**
 * Closes the connections of a client certificate that was replaced: Kafka checks a certificate only when a
 * connection is opened, and the rights of its subject with each request. They stay open until `tryNext` has
 * connected with the new one. Returns a function that ends this.
 */
export function replaceConnections(
  sockets: FollowedSockets,
  tryNext: () => Promise<unknown>,
  log: Logger,
): Cancel {
  let isTrying = false;
  let lastFault: string | undefined;
  async function look(): Promise<void> {
    if (isTrying || !sockets.hasReplaced()) return;
    isTrying = true;
    try {
      await tryNext();
      sockets.closeReplaced();
      lastFault = undefined;
      log.info("kafka connections reopened with the new certificate");
    } catch (error) {
      const reason = getErrorMessage(error);
      if (reason !== lastFault && !sockets.isClosed)
        log.warn({ reason }, "new certificate not accepted, keeping the connections of the old one");
      lastFault = reason;
    } finally {
      isTrying = false;
    }
  }
  return repeat(pollIntervalMs, () => void look());
}
