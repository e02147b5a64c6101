import { hostname } from "node:os";

import type { Audit } from "@topicsync/lib/audit/audit";
import { getErrorMessage } from "@topicsync/lib/errors";
import { currentDate, elapsed, repeat, sleep } from "@topicsync/lib/platform";
import type { Config } from "../config/config.ts";
import type { Installation } from "../installations/installation.ts";
import type { InstallationQuery } from "../installations/listing.ts";
import type { Context } from "./context.ts";

const dayMs = 24 * 60 * 60_000;
const checkIntervalMs = 60_000;
/** After a sweep that failed or was interrupted. */
const retryMs = 10 * 60_000;
/** Rests this many times as long as it reads, so that it takes a fifth of the time. */
const restFactor = 4;
const perPage = 1_000;

interface ExpiryContext extends Pick<Context, "services" | "lifecycle" | "abort" | "log"> {
  readonly audit: Audit;
}

type SweepContext = Omit<ExpiryContext, "lifecycle">;

/**
 * Deactivates tokens that were not registered for some days, and deletes those that were deactivated some
 * days ago, each once a day if that is set. Of several instances, the one that claims the job sweeps.
 */
export function startTokenExpiry(
  { maxUnseenDays, deleteInactiveDays }: Pick<Config["push"], "maxUnseenDays" | "deleteInactiveDays">,
  context: ExpiryContext,
): void {
  const { lifecycle } = context;
  const log = context.log.child({ component: "token-expiry" });
  if (deleteInactiveDays === undefined)
    log.info("inactive push tokens are kept for ever, set PUSH_DELETE_INACTIVE_DAYS to delete them");
  if (maxUnseenDays === undefined && deleteInactiveDays === undefined) return;
  const stopping = new AbortController();
  const abort = AbortSignal.any([context.abort, stopping.signal]);
  const sweepContext = { ...context, abort, log };
  let running: Promise<void> | undefined;

  async function sweepAll(): Promise<void> {
    if (maxUnseenDays !== undefined) await expireTokens(maxUnseenDays, sweepContext);
    if (deleteInactiveDays !== undefined) await deleteInactiveTokens(deleteInactiveDays, sweepContext);
  }
  const sweep = (): void => {
    running ??= sweepAll()
      .catch((error: unknown) => {
        log.debug({ reason: getErrorMessage(error) }, "tokens not swept, retrying");
      })
      .finally(() => {
        running = undefined;
      });
  };
  const stop = repeat(checkIntervalMs, sweep);
  lifecycle.onStop("token expiry", async () => {
    stop();
    stopping.abort();
    await running;
  });
  sweep();
}

const toDaysAgo = (days: number): Date => new Date(currentDate().getTime() - days * dayMs);

/** Deactivates tokens that were not seen for some days, if that is due. Throws UnavailableError. */
export function expireTokens(days: number, context: SweepContext): Promise<void> {
  const unseenSince = toDaysAgo(days);
  const condition = { unseenSince, reason: `not seen for ${days} days` };
  const { installationDeactivator: deactivator } = context.services;
  const sweep: Sweep = {
    ...{ job: "expire-tokens", query: { active: true, unseenSince }, action: "installations.swept" },
    apply: (found) => deactivator.deactivateUnseen(toIds(found), condition),
  };
  return run(sweep, "PUSH_TOKEN_MAX_UNSEEN_DAYS", context);
}

/** Deletes tokens that were deactivated some days ago, if that is due. Throws UnavailableError. */
export function deleteInactiveTokens(days: number, context: SweepContext): Promise<void> {
  const before = toDaysAgo(days);
  const isOld = ({ deactivatedOn, updatedOn }: Installation) => (deactivatedOn ?? updatedOn) < before;
  const { installationDeactivator: deactivator } = context.services;
  const sweep: Sweep = {
    ...{ job: "delete-inactive-tokens", query: { active: false }, action: "installations.deleted" },
    apply: (found) => deactivator.deleteInactive(toIds(found.filter(isOld)), before),
  };
  return run(sweep, "PUSH_DELETE_INACTIVE_DAYS", context);
}

const toIds = (found: readonly Installation[]): string[] => found.map(({ id }) => id);

interface Sweep {
  readonly job: string;
  readonly query: InstallationQuery;
  /** Changes those that it concerns of some that were found. Returns how many. */
  readonly apply: (found: readonly Installation[]) => Promise<number>;
  readonly action: "installations.swept" | "installations.deleted";
}

async function run(
  { job, query, apply, action }: Sweep,
  setting: string,
  { services: { jobs, installationListing }, audit, abort, log }: SweepContext,
): Promise<void> {
  const now = currentDate();
  if (!(await jobs.claim(job, now, new Date(now.getTime() + dayMs)))) return;
  let isComplete = false;
  let count = 0;
  let after: string | undefined;
  try {
    do {
      const startedAt = elapsed();
      const { installations, next } = await installationListing.findPage(query, { after, limit: perPage });
      count += await apply(installations);
      after = next;
      await sleep(restFactor * (elapsed() - startedAt), abort);
    } while (after !== undefined && !abort.aborted);
    isComplete = !abort.aborted;
  } finally {
    if (!isComplete) await jobs.postpone(job, new Date(currentDate().getTime() + retryMs));
    if (count > 0) {
      log.info({ count, setting }, query.active ? "unseen tokens deactivated" : "inactive tokens deleted");
      audit.record({ action, count }, { via: "settings", by: setting, from: hostname() });
    }
  }
}
