import type { InstallationCount, Overview } from "../../../schemas/overview.ts";
import type { SyncStatus } from "../../../schemas/sync-status.ts";
import type { DeadLetterService } from "../../dead-letters/service.ts";
import { cached } from "../../lib/cached.ts";
import { getErrorMessage } from "../../lib/errors.ts";
import { version } from "../../lib/version.ts";
import type { History } from "./history.ts";

const maxDeadLetters = 10;

export interface OverviewOptions {
  readonly readiness: () => Promise<Overview["checks"]>;
  readonly status: () => Promise<SyncStatus>;
  readonly history: Pick<History, "samples">;
  readonly deadLetters: Pick<DeadLetterService, "list">;
  readonly installations: () => Promise<readonly InstallationCount[]>;
}

/** Tells how everything is, as it was at most a second ago: many may look at once. What cannot be found out is null, with the reason among the problems. */
export type GetOverview = () => Promise<Overview>;

/** Makes the overview. */
export function createOverview(options: OverviewOptions): GetOverview {
  const { readiness, status, history } = options;
  const listDeadLetters = async () =>
    (await options.deadLetters.list({ filter: {}, limit: maxDeadLetters })).deadLetters;
  const background = { staleWhileRevalidate: true } as const;
  const deadLetters = cached(keepLast(listDeadLetters), { ...background, ttlMs: 5_000, restFactor: 1 });
  // Every installation is looked at: at most a twentieth of the time.
  const installations = cached(keepLast(options.installations), {
    ...background,
    ttlMs: 30_000,
    restFactor: 20,
  });

  async function tell(): Promise<Overview> {
    const [checks, sync, latest, totals] = await Promise.all([
      readiness(),
      status(),
      deadLetters(),
      installations(),
    ]);
    const problems = { "dead letters": latest.problem, installations: totals.problem };
    return {
      at: new Date().toISOString(),
      version,
      ready: Object.values(checks).every(({ ok }) => ok),
      checks,
      sync,
      history: [...history.samples()],
      deadLetters: latest.value === undefined ? null : [...latest.value],
      installations: totals.value === undefined ? null : [...totals.value],
      problems: Object.entries(problems).flatMap(([what, problem]) =>
        problem === undefined ? [] : [`${what}: ${getErrorMessage(problem)}`],
      ),
    };
  }

  return cached(tell, { ttlMs: 1_000 });
}

/** A value as it was last known, and why it could not be fetched again since. */
interface LastKnown<T> {
  readonly value: T | undefined;
  readonly problem: unknown;
}

function keepLast<T>(fetch: () => Promise<T>): () => Promise<LastKnown<T>> {
  let value: T | undefined;
  return async () => {
    try {
      value = await fetch();
      return { value, problem: undefined };
    } catch (problem) {
      return { value, problem };
    }
  };
}
