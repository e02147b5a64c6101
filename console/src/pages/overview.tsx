import type { Overview as OverviewData } from "../../../schemas/overview.ts";
import { useLive } from "../live.ts";
import { Page } from "../components/page.tsx";
import { Failure } from "../components/error-message.tsx";
import { When } from "../components/time-ago.tsx";
import { Health } from "./overview/health.tsx";
import { Installations } from "./overview/installations.tsx";
import { Refused } from "./overview/recent-dead-letters.tsx";
import { Sync } from "./overview/sync.tsx";

/** How everything is, live. */
export function Overview() {
  const { value, error } = useLive<OverviewData>(
    "/api/topicsync/v1/overview",
    "/api/topicsync/v1/overview/events",
  );
  return (
    <Page name="Overview">
      {error !== undefined && <Failure error={error} />}
      {value === undefined ? (
        error === undefined && <p aria-busy="true">Looking …</p>
      ) : (
        <>
          <Health ready={value.ready} checks={value.checks} problems={value.problems} />
          <Sync sync={value.sync} history={value.history} />
          <Refused deadLetters={value.deadLetters} counts={value.sync.counts} since={value.sync.since} />
          <Installations totals={value.installations} />
          <footer>
            <small>
              As of <When time={value.at} />, by topicsync {value.version}.
            </small>
          </footer>
        </>
      )}
    </Page>
  );
}
