import type { TopicUsageView } from "../../../../schemas/topics/usage.ts";
import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Figure, Figures } from "../../components/figure.tsx";
import { formatCount } from "../../components/format.ts";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useQuery } from "../../query.ts";
import { getTopicPath, topicsPath } from "./source.ts";

/** How many events a topic had. */
export function Usage({ topic }: { readonly topic: TopicDetail }) {
  const { value, error, loading, refetch } = useQuery<TopicUsageView>(
    `${topicsPath}/${getTopicPath(topic)}/usage`,
  );
  return (
    <section aria-labelledby="usage">
      <h2 id="usage">Use</h2>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {value === undefined && loading && <p aria-busy="true">Loading …</p>}
      {value !== undefined && <Counts usage={value} />}
    </section>
  );
}

function Counts({ usage: { events, lastEventOn, counted } }: { readonly usage: TopicUsageView }) {
  if (counted === null) return <p>No counts are stored yet: a router stores them within ten minutes.</p>;
  return (
    <>
      <Figures>
        <Figure name="Events" value={formatCount(events)} />
        <Figure name="Last event" value={lastEventOn === null ? "none" : <TimeAgo time={lastEventOn} />} />
      </Figures>
      <p class="quiet">
        Counted since <TimeAgo time={counted.since} />, up to ten minutes late.
      </p>
    </>
  );
}
