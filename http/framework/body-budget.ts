import type { IncomingMessage } from "node:http";

/** How many bytes of bodies a process reads at the same time. */
const maxBytesRead = 64 * 1024 * 1024;

export interface BodyBudget {
  /** Takes bytes until the request is closed; false, and nothing is taken, if there are not so many left. */
  take(request: IncomingMessage, bytes: number): boolean;
}

/**
 * Limits the memory for bodies that have begun to arrive. Bodies that never end give it back after the
 * server's `requestTimeout`.
 */
export function createBodyBudget(maxBytes = maxBytesRead): BodyBudget {
  let left = maxBytes;
  const taken = new WeakMap<IncomingMessage, number>();
  return {
    take(request, bytes) {
      if (bytes > left) return false;
      left -= bytes;
      const before = taken.get(request);
      if (before === undefined) request.once("close", () => (left += taken.get(request) ?? 0));
      taken.set(request, (before ?? 0) + bytes);
      return true;
    },
  };
}
