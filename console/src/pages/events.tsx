import { ErrorMessage } from "../components/error-message.tsx";
import { Page } from "../components/page.tsx";
import { useOverview } from "../live.ts";
import { BusiestTopics } from "./events/busiest.tsx";
import { EventCounts } from "./events/counts.tsx";
import { EventDeadLetters } from "./events/dead-letters.tsx";
import { Forwarding } from "./events/forwarding.tsx";
import { IndexState } from "./events/index-state.tsx";
import { NoRouter } from "./events/no-router.tsx";

/** The router, which forwards events to their topics. */
export function Events() {
  const { value, error } = useOverview();
  const router = value?.sync.router;
  return (
    <Page name="Events">
      {error !== undefined && <ErrorMessage error={error} />}
      {value === undefined && error === undefined && <p aria-busy="true">Loading …</p>}
      {router === null && <NoRouter />}
      {value !== undefined && router !== null && router !== undefined && (
        <>
          <p>Each event is forwarded to every topic whose filters it matches.</p>
          <IndexState router={router} />
          <Forwarding router={router} history={value.history} />
          <EventCounts counts={router.counts} since={value.sync.since} />
          <BusiestTopics topics={router.busiest} />
          <EventDeadLetters />
        </>
      )}
    </Page>
  );
}
