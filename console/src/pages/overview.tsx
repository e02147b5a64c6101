import { useOverview } from "../live.ts";
import { Page } from "../components/page.tsx";
import { ErrorMessage } from "../components/error-message.tsx";
import { TimeAgo } from "../components/time-ago.tsx";
import { Health } from "./overview/health.tsx";
import { InstallationTotals } from "./overview/installations.tsx";
import { RecentDeadLetters } from "./overview/recent-dead-letters.tsx";
import { Sync } from "./overview/sync.tsx";

export function Overview() {
  const { value, error } = useOverview();
  return (
    <Page name="Overview">
      {error !== undefined && <ErrorMessage error={error} />}
      {value === undefined ? (
        error === undefined && <p aria-busy="true">Loading …</p>
      ) : (
        <>
          <Health ready={value.ready} checks={value.checks} problems={value.problems} />
          <Sync sync={value.sync} history={value.history} />
          <RecentDeadLetters
            deadLetters={value.deadLetters}
            counts={value.sync.counts}
            since={value.sync.since}
          />
          <InstallationTotals totals={value.installations} />
          <footer>
            <small>
              As of <TimeAgo time={value.at} />, topicsync {value.version}.
            </small>
          </footer>
        </>
      )}
    </Page>
  );
}
