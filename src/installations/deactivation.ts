import { tokenDigest, type AuditEvent } from "@topicsync/lib/audit/audit";
import type { InstallationKey } from "./installation.ts";
import type { DeactivateAll, DeactivateAllRequest } from "./stores.ts";

/** The reason of tokens that an administrator has removed. */
export const toRemovalReason = (administrator: string): string =>
  `removed by the administrator ${administrator}`;

/** Returns the audit event of a deactivated token. */
export const toDeactivationEvent = (
  { application, platform, token }: InstallationKey,
  reason: string,
): AuditEvent => ({
  action: "installation.deactivated",
  application,
  platform,
  tokenDigest: tokenDigest(token),
  reason,
});

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
