import { tokenDigest, type AuditEvent } from "../lib/audit.ts";
import type { InstallationKey } from "./installation.ts";
import type { InstallationListing, InstallationQuery } from "./listing.ts";
import type { DeactivateAll, DeactivateAllRequest } from "./stores.ts";

/** Returns the audit events of deactivated tokens. */
export const toDeactivationEvents = (keys: readonly InstallationKey[], reason: string): AuditEvent[] =>
  keys.map(({ application, platform, token }) => ({
    action: "installation.deactivated",
    application,
    platform,
    tokenDigest: tokenDigest(token),
    reason,
  }));

/**
 * Runs one deactivation of a kind at a time. Callers that ask for the same while it runs, usually retries
 * after a timeout, share the next run, not the current one as in a single flight. It starts after they asked,
 * so it covers everything registered before.
 */
export function shareDeactivations(deactivateAll: DeactivateAll): DeactivateAll {
  const running = new Map<string, Promise<void>>();
  const queued = new Map<string, Promise<void>>();

  function start(key: string, request: DeactivateAllRequest): Promise<void> {
    queued.delete(key);
    const run = deactivateAll(request).finally(() => running.delete(key));
    running.set(key, run);
    return run;
  }

  return (request) => {
    const key = JSON.stringify([request.application, request.platform, request.reason]);
    const next = queued.get(key);
    if (next !== undefined) return next;
    const current = running.get(key);
    if (current === undefined) return start(key, request);
    const shared = current.catch(() => undefined).then(() => start(key, request));
    queued.set(key, shared);
    return shared;
  };
}

interface Sweep {
  readonly query: Pick<InstallationQuery, "application" | "platform">;
  readonly unseenSince: Date;
  /** Deactivates the ones of these ids that are still unseen, and returns how many. Undefined: only count. */
  readonly deactivate: ((ids: readonly string[]) => Promise<number>) | undefined;
  /** Stops the sweep after the current chunk. */
  readonly abort: AbortSignal;
  /** Receives the number of records examined so far. The sweep goes on when it resolves. */
  readonly onProgress: (scanned: number) => Promise<void> | void;
}

interface SweepResult {
  readonly found: number;
  /** Less than `found` when some were registered again during the sweep. */
  readonly deactivated: number;
}

/**
 * Deactivates all active installations that were not seen since. Safe to interrupt; run it again to continue.
 * Throws UnavailableError.
 */
export async function sweep(
  listing: Pick<InstallationListing, "streamAll">,
  { query, unseenSince, deactivate, abort, onProgress }: Sweep,
): Promise<SweepResult> {
  let found = 0;
  let deactivated = 0;
  let totalScanned = 0;
  for await (const { installations, scanned } of listing.streamAll({ ...query, active: true, unseenSince })) {
    const ids = installations.map(({ id }) => id);
    found += ids.length;
    if (deactivate !== undefined && ids.length > 0) deactivated += await deactivate(ids);
    totalScanned += scanned;
    await onProgress(totalScanned);
    if (abort.aborted) break;
  }
  return { found, deactivated };
}
