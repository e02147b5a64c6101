import { useState } from "preact/hooks";
import { Link } from "wouter-preact";

import type { TopicDetail, TopicView } from "../../../../schemas/topic-view.ts";
import type { FilterMember } from "../../../../src/matching/filter/filter.ts";
import { useQuery } from "../../query.ts";
import { useRight } from "../../session.ts";
import { Page } from "../../components/page.tsx";
import { ErrorMessage } from "../../components/error-message.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { FilterDescription } from "./filter.tsx";
import { describeSource } from "./source.ts";
import { ActivationButton } from "./activation.tsx";

export function TopicPage({ id }: { readonly id: string }) {
  const query = useQuery<TopicDetail>(`/api/topicsync/v1/topics/${encodeURIComponent(id)}`);
  const [updated, setUpdated] = useState<TopicDetail>();
  const topic = updated ?? query.value;
  return (
    <Page name={topic?.name ?? "Topic"}>
      <p>
        <Link href="/topics">All topics</Link>
      </p>
      {query.error !== undefined && <ErrorMessage error={query.error} retry={query.refetch} />}
      {query.loading && <p aria-busy="true">Loading …</p>}
      {topic !== undefined && <Details topic={topic} onChange={setUpdated} />}
    </Page>
  );
}

interface DetailsProps {
  readonly topic: TopicDetail;
  readonly onChange: (topic: TopicDetail) => void;
}

function Details({ topic, onChange }: DetailsProps) {
  const canWrite = useRight("topics.write");
  const isActive = topic.state === "active";
  const { headerQuery, contentQuery } = topic.filters;
  const notes = [...new Set([...headerQuery.notes, ...contentQuery.notes])];
  return (
    <>
      <article class={isActive ? "well" : "failure"} aria-labelledby="state">
        <div role="status">
          <h2 id="state">{isActive ? "This topic is active" : `This topic is ${topic.state}`}</h2>
        </div>
        {topic.retiredBy !== undefined && topic.retiredOn !== undefined && (
          <p>
            {topic.state === "disabled" ? "Disabled" : "Retired"} <TimeAgo time={topic.retiredOn} />,{" "}
            {describeSource(topic.retiredBy)}. No event matches it.
          </p>
        )}
        <div class="topic-actions">
          {isActive && (
            <Link href={`/picker?topic=${encodeURIComponent(topic.externalId)}`}>
              Try an event in the picker
            </Link>
          )}
          {canWrite && <ActivationButton topic={topic} onChange={onChange} />}
        </div>
      </article>
      <dl class="facts">
        <Fact name="External id" code value={topic.externalId} />
        <Fact name="Namespace" value={topic.namespace === "" ? "none" : topic.namespace} />
        <dt>Source</dt>
        <dd>{describeSource(topic.source)}</dd>
        <dt>Created</dt>
        <dd>
          <TimeAgo time={topic.createdOn} />
        </dd>
        <dt>Changed</dt>
        <dd>
          <TimeAgo time={topic.updatedOn} />
        </dd>
        <Fact name="Id" code value={topic.id} />
      </dl>
      <Filter name="Header query" member="headerQuery" text={topic.headerQuery} />
      <Filter name="Content query" member="contentQuery" text={topic.contentQuery} />
      {notes.length > 0 && (
        <p>
          <small>{notes.join(" ")}</small>
        </p>
      )}
      <PreviousDefinition topic={topic} />
    </>
  );
}

interface FactProps {
  readonly name: string;
  readonly value: string;
  readonly code?: boolean;
}

const Fact = ({ name, value, code = false }: FactProps) => (
  <>
    <dt>{name}</dt>
    <dd>{code ? <code>{value}</code> : value}</dd>
  </>
);

interface FilterProps {
  readonly name: string;
  readonly member: FilterMember;
  readonly text: string;
}

const Filter = ({ name, member, text }: FilterProps) => (
  <section>
    <h2>{name}</h2>
    {text !== "" && <pre class="query">{text}</pre>}
    <div>
      <FilterDescription member={member} text={text} />
    </div>
  </section>
);

const memberLabels = {
  name: "Name",
  namespace: "Namespace",
  headerQuery: "Header query",
  contentQuery: "Content query",
} as const;

/** The members that the last change of the definition changed. */
function PreviousDefinition({ topic }: { readonly topic: TopicView }) {
  const { previous } = topic;
  return (
    <section>
      <h2>Previous definition</h2>
      {previous === undefined ? (
        <p>None.</p>
      ) : (
        <>
          <p>
            Set {describeSource(previous.source)}, <TimeAgo time={previous.updatedOn} />.
          </p>
          {(Object.keys(memberLabels) as (keyof typeof memberLabels)[])
            .filter((member) => previous[member] !== topic[member])
            .map((member) => (
              <dl key={member} class="facts">
                <dt>{memberLabels[member]}, previously</dt>
                <dd>
                  <pre class="query was">{previous[member] === "" ? "(empty)" : previous[member]}</pre>
                </dd>
                <dt>now</dt>
                <dd>
                  <pre class="query now">{topic[member] === "" ? "(empty)" : topic[member]}</pre>
                </dd>
              </dl>
            ))}
        </>
      )}
    </section>
  );
}
