import type { Lifecycle } from "@topicsync/lib/lifecycle";
import type { Logger } from "@topicsync/lib/logger";
import { elapsed, repeat } from "@topicsync/lib/platform";
import type { CheckReadiness } from "../operations/framework/services.ts";

const intervalMs = 5_000;
/** One late response of a busy server is not an outage. */
const minFailures = 2;
/** The checks that ping a server. */
const watched = ["kafka", "mongodb"] as const;

interface Outage {
  readonly since: number;
  failures: number;
}

/** Logs one line when Kafka or MongoDB no longer responds, and one when it responds again. */
export function watchOutages(
  checkReadiness: CheckReadiness,
  { lifecycle, log }: { readonly lifecycle: Lifecycle; readonly log: Logger },
): void {
  const outages = new Map<string, Outage>();

  async function check(): Promise<void> {
    const startedAt = elapsed();
    const checks = await checkReadiness();
    for (const name of watched) {
      const result = checks[name];
      const outage = outages.get(name);
      if (result?.ok === false) {
        const current = outage ?? { since: startedAt, failures: 0 };
        current.failures += 1;
        outages.set(name, current);
        if (current.failures === minFailures) log.warn({ reason: result.reason }, `${name} does not respond`);
      } else if (outage !== undefined) {
        outages.delete(name);
        const seconds = Math.round((elapsed() - outage.since) / 1_000);
        if (outage.failures >= minFailures) log.info({ seconds }, `${name} responds again`);
      }
    }
  }

  lifecycle.onStop(
    "outage watch",
    repeat(intervalMs, () => void check()),
  );
}
