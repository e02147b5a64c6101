import { Link } from "wouter-preact";

import type { TopicRelationsView } from "../../../../schemas/topics/relations.ts";
import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { formatCount } from "../../components/format.ts";
import { useQuery } from "../../query.ts";
import { getTopicPath, topicsPath } from "./source.ts";

/** The topics that have all events of a topic. */
export function Relations({ topic }: { readonly topic: TopicDetail }) {
  const { value, error, loading, refetch } = useQuery<TopicRelationsView>(
    `${topicsPath}/${getTopicPath(topic)}/relations`,
  );
  return (
    <>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {loading && value === undefined && <p aria-busy="true">Comparing the filters of all topics …</p>}
      {value !== undefined && (
        <>
          {value.impossible.length > 0 && (
            <p class="warning">No event can match this topic: {value.impossible.join(" and ")}.</p>
          )}
          <Related title="The same events" related={value.same} />
          <Related title="All of its events, and others" related={value.containing} />
          <p class="quiet">
            {!value.complete && "There may be more. "}
            This follows from the filters alone. <code>topicsync topics analyze</code> with its external id
            also lists topics that are contained in it.
          </p>
        </>
      )}
    </>
  );
}

interface RelatedProps {
  readonly title: string;
  readonly related: TopicRelationsView["same"];
}

function Related({ title, related: { total, topics } }: RelatedProps) {
  const more = total - topics.length;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {topics.length === 0 && <p>No other topic.</p>}
      <ul>
        {topics.map((topic) => (
          <li key={topic.id}>
            <Link href={`/topics/${getTopicPath(topic)}`}>{topic.name}</Link>{" "}
            <span class="quiet">{topic.externalId}</span>
          </li>
        ))}
      </ul>
      {more > 0 && <p>and {formatCount(more)} more</p>}
    </section>
  );
}
