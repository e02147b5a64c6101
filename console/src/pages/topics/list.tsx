import { Link } from "wouter-preact";

import { useAddress } from "../../address.ts";
import { Page } from "../../components/page.tsx";
import { Failure } from "../../components/error-message.tsx";
import { Pager, usePageState } from "../../components/pager.tsx";
import { Choice, isNarrowed, toQuery, readChoice } from "./list-options.tsx";
import { useTopicPage } from "./topic-page.ts";
import { TopicTable } from "./table.tsx";

/** All topics: searched, sorted, page by page. */
export function TopicList() {
  const { query, ask } = useAddress("/topics");
  const choice = readChoice(query);
  const list = toQuery(choice);
  const place = usePageState(list);
  const { topics, next, error, asking, again } = useTopicPage(list, place.after);
  return (
    <Page name="Topics">
      <p>
        <Link href="/topics?create">Create a topic</Link>
      </p>
      <Choice choice={choice} chosen={ask} />
      {error !== undefined && <Failure error={error} again={again} />}
      {topics.length > 0 && <TopicTable topics={topics} state={choice.state} />}
      <p role="status" aria-busy={asking}>
        {statusOf({ asking, count: topics.length, failed: error !== undefined })}
      </p>
      {error === undefined && !asking && topics.length === 0 && (
        <Nothing state={choice.state} narrowed={isNarrowed(choice)} isFirst={place.page === 1} />
      )}
      <Pager place={place} next={asking ? null : next} />
    </Page>
  );
}

function statusOf({ asking, count, failed }: { asking: boolean; count: number; failed: boolean }): string {
  if (failed || (!asking && count > 0)) return "";
  if (!asking) return "No topic is here.";
  return count === 0 ? "Looking …" : "Looking for more …";
}

interface NothingProps {
  readonly state: string;
  readonly narrowed: boolean;
  readonly isFirst: boolean;
}

/** What to do next where there is nothing to see. */
function Nothing({ state, narrowed, isFirst }: NothingProps) {
  if (!isFirst) return <p>There are no more behind the page before.</p>;
  if (narrowed)
    return (
      <p>
        Nothing begins like that. Upper and lower case are different.{" "}
        <Link href="/topics">Show all topics</Link>
      </p>
    );
  if (state === "retired") return <p>The channel has retired no topic that did not come back.</p>;
  if (state === "disabled") return <p>Nobody has disabled a topic.</p>;
  return <p>Announce topics, or create the first one by hand.</p>;
}
