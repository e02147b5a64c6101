import { useState } from "preact/hooks";
import { Link } from "wouter-preact";

import type { TopicDetail } from "../../../../schemas/topic-view.ts";
import type { FilterMember } from "../../../../src/matching/filter/filter.ts";
import { useQuery } from "../../query.ts";
import { Page } from "../../components/page.tsx";
import { Failure } from "../../components/error-message.tsx";
import { When } from "../../components/time-ago.tsx";
import { Before } from "./before.tsx";
import { FilterWords } from "./filter.tsx";
import { sourceWords } from "./source.ts";
import { Switch } from "./switch.tsx";

/** One topic: what it is, where it came from, and what it was before. */
export function OneTopic({ id }: { readonly id: string }) {
  const asked = useQuery<TopicDetail>(`/api/topicsync/v1/topics/${encodeURIComponent(id)}`);
  const [changed, setChanged] = useState<TopicDetail>();
  const topic = changed ?? asked.value;
  return (
    <Page name={topic?.name ?? "Topic"}>
      <p>
        <Link href="/topics">All topics</Link>
      </p>
      {asked.error !== undefined && <Failure error={asked.error} again={asked.again} />}
      {asked.asking && <p aria-busy="true">Looking …</p>}
      {topic !== undefined && <Told topic={topic} changed={setChanged} />}
    </Page>
  );
}

interface ToldProps {
  readonly topic: TopicDetail;
  readonly changed: (topic: TopicDetail) => void;
}

function Told({ topic, changed }: ToldProps) {
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
            {topic.state === "disabled" ? "Disabled" : "Retired"} <When time={topic.retiredOn} />,{" "}
            {topic.state === "disabled"
              ? sourceWords(topic.retiredBy)
              : `by what was ${sourceWords(topic.retiredBy)}`}
            . No event belongs to it.
          </p>
        )}
        <div class="topic-actions">
          {isActive && (
            <Link href={`/picker?topic=${encodeURIComponent(topic.externalId)}`}>
              Try an event in the picker
            </Link>
          )}
          <Switch topic={topic} changed={changed} />
        </div>
      </article>
      <dl class="facts">
        <Fact name="External id" code value={topic.externalId} />
        <Fact name="Namespace" value={topic.namespace === "" ? "none" : topic.namespace} />
        <dt>Came from</dt>
        <dd>{sourceWords(topic.source)}</dd>
        <dt>Created</dt>
        <dd>
          <When time={topic.createdOn} />
        </dd>
        <dt>Changed</dt>
        <dd>
          <When time={topic.updatedOn} />
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
      <Before topic={topic} />
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
      <FilterWords member={member} text={text} />
    </div>
  </section>
);
