import type { Scope } from "./listing.ts";

/** Everybody's tokens of an application on a platform, and why they are deactivated. */
export interface RemovalRequest extends Scope {
  readonly reason: string;
}

/**
 * Deactivates everybody's active tokens of an application on a platform, some hundred at a time. Whatever was registered
 * before the call is inactive after it, unless it was registered again meanwhile; what is registered during the call may end
 * either way. Where it fails, part is done, and repeating it does the rest. Throws UnavailableError.
 */
export type RemoveAllTokens = (request: RemovalRequest) => Promise<void>;

/**
 * Runs one removal of a kind at a time: those who ask for the same meanwhile, mostly because they lost patience, share the
 * next one. It begins after they asked, so it covers all that was registered before.
 */
export function shareRemovals(remove: RemoveAllTokens): RemoveAllTokens {
  const running = new Map<string, Promise<void>>();
  const next = new Map<string, Promise<void>>();

  function start(key: string, request: RemovalRequest): Promise<void> {
    next.delete(key);
    const run = remove(request).finally(() => running.delete(key));
    running.set(key, run);
    return run;
  }

  return (request) => {
    const key = JSON.stringify([request.application, request.platform, request.reason]);
    const waiting = next.get(key);
    if (waiting !== undefined) return waiting;
    const before = running.get(key);
    if (before === undefined) return start(key, request);
    const shared = before.catch(() => undefined).then(() => start(key, request));
    next.set(key, shared);
    return shared;
  };
}
