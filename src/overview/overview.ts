import type { InstallationTotal, LatestLetter, Overview } from "../../schemas/overview.ts";
import type { SyncStatus } from "../../schemas/sync-status.ts";
import { messageOf } from "../errors.ts";
import { version } from "../version.ts";
import type { History } from "./history.ts";
import { remembered } from "./remembered.ts";

export interface OverviewOptions {
  readonly readiness: () => Promise<Overview["checks"]>;
  readonly status: () => Promise<SyncStatus>;
  readonly history: Pick<History, "samples">;
  readonly letters: () => Promise<readonly LatestLetter[]>;
  readonly installations: () => Promise<readonly InstallationTotal[]>;
}

/** Tells how everything is, as it was a second ago: many may look at once. What cannot be found out is null, with the reason among the problems. */
export type TellOverview = () => Promise<Overview>;

/** Makes the overview. */
export function createOverview(options: OverviewOptions): TellOverview {
  const { readiness, status, history } = options;
  const letters = remembered(options.letters, { leastMs: 5_000, rest: 1 });
  // Every installation is looked at: at most a twentieth of the time.
  const installations = remembered(options.installations, { leastMs: 30_000, rest: 20 });
  const overview = remembered(tell, { leastMs: 1_000, rest: 0 });

  async function tell(): Promise<Overview> {
    const [checks, sync, latest, totals] = await Promise.all([
      readiness(),
      status(),
      letters(),
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
      letters: latest.value === undefined ? null : [...latest.value],
      installations: totals.value === undefined ? null : [...totals.value],
      problems: Object.entries(problems).flatMap(([what, problem]) =>
        problem === undefined ? [] : [`${what}: ${messageOf(problem)}`],
      ),
    };
  }

  return async () => {
    const { value, problem } = await overview();
    if (value !== undefined) return value;
    throw problem;
  };
}
