import { hostname } from "node:os";

import type { Audit } from "@topicsync/lib/audit/audit";
import { getErrorMessage } from "@topicsync/lib/errors";
import { currentDate, elapsed, repeat, sleep } from "@topicsync/lib/platform";
import type { Context } from "./context.ts";

const dayMs = 24 * 60 * 60_000;
const jobName = "expire-tokens";
const checkIntervalMs = 60_000;
/** After a sweep that failed or was interrupted. */
const retryMs = 10 * 60_000;
/** Rests this many times as long as it reads, so that it takes a fifth of the time. */
const restFactor = 4;
const perPage = 1_000;

interface ExpiryContext extends Pick<Context, "services" | "lifecycle" | "abort" | "log"> {
  readonly audit: Audit;
}

/**
 * Deactivates tokens that were not registered for some days, once a day. Of several instances, the one that
 * claims the job sweeps.
 */
export function startTokenExpiry(maxUnseenDays: number, context: ExpiryContext): void {
  const { lifecycle } = context;
  const log = context.log.child({ component: "token-expiry" });
  const stopping = new AbortController();
  const abort = AbortSignal.any([context.abort, stopping.signal]);
  let running: Promise<void> | undefined;

  const run = (): void => {
    running ??= expireTokens(maxUnseenDays, { ...context, abort, log })
      .catch((error: unknown) => {
        log.debug({ reason: getErrorMessage(error) }, "tokens not swept, retrying");
      })
      .finally(() => {
        running = undefined;
      });
  };
  const stop = repeat(checkIntervalMs, run);
  lifecycle.onStop("token expiry", async () => {
    stop();
    stopping.abort();
    await running;
  });
  run();
}

/** Sweeps if that is due. Throws UnavailableError. */
export async function expireTokens(
  maxUnseenDays: number,
  { services, audit, abort, log }: Omit<ExpiryContext, "lifecycle">,
): Promise<void> {
  const { jobs, installationListing, installationDeactivator } = services;
  const now = currentDate();
  if (!(await jobs.claim(jobName, now, new Date(now.getTime() + dayMs)))) return;
  const unseenSince = new Date(now.getTime() - maxUnseenDays * dayMs);
  const reason = `not seen for ${maxUnseenDays} days`;
  let isComplete = false;
  let deactivated = 0;
  let after: string | undefined;
  try {
    do {
      const startedAt = elapsed();
      const query = { active: true, unseenSince };
      const { installations, next } = await installationListing.findPage(query, { after, limit: perPage });
      const ids = installations.map(({ id }) => id);
      deactivated += await installationDeactivator.deactivateUnseen(ids, { unseenSince, reason });
      after = next;
      await sleep(restFactor * (elapsed() - startedAt), abort);
    } while (after !== undefined && !abort.aborted);
    isComplete = !abort.aborted;
  } finally {
    if (!isComplete) await jobs.postpone(jobName, new Date(currentDate().getTime() + retryMs));
    if (deactivated > 0) {
      log.info({ deactivated, unseenSince }, "unseen tokens deactivated");
      const origin = { via: "settings", by: "PUSH_TOKEN_MAX_UNSEEN_DAYS", from: hostname() } as const;
      audit.record({ action: "installations.swept", count: deactivated }, origin);
    }
  }
}
