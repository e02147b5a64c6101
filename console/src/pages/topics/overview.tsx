import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";

import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useRight } from "../../session.ts";
import { getSetPath } from "../sets/paths.ts";
import { ActivationButton } from "./activation.tsx";
import { findDrift } from "./drift.ts";
import { FilterDescription } from "./filter.tsx";
import { describeSource, formatUser, getTopicPath } from "./source.ts";
import { Usage } from "./usage.tsx";

interface OverviewProps {
  readonly topic: TopicDetail;
  readonly onChange: (topic: TopicDetail) => void;
}

/** What a topic is: its events, how many there are, what its team says, and where it comes from. */
export function Overview({ topic, onChange }: OverviewProps) {
  const canWrite = useRight("topics.write");
  return (
    <div class="columns">
      <div>
        <Events topic={topic} />
        <div class="topic-actions">
          {topic.state === "active" && (
            <Link href={`/picker?topic=${encodeURIComponent(topic.externalId)}`}>
              Try an event in the picker
            </Link>
          )}
          {canWrite && <ActivationButton topic={topic} onChange={onChange} />}
        </div>
      </div>
      <div>
        <Usage topic={topic} />
        <Details topic={topic} canWrite={canWrite} />
        <Origin topic={topic} />
      </div>
    </div>
  );
}

const memberLabels = { headerQuery: "Header query", contentQuery: "Content query" } as const;
const members = ["headerQuery", "contentQuery"] as const;

function Events({ topic }: { readonly topic: TopicDetail }) {
  const { headerQuery, contentQuery } = topic.filters;
  const conditions = [...headerQuery.conditions, ...contentQuery.conditions];
  const notes = [...new Set([...headerQuery.notes, ...contentQuery.notes])];
  const isValid = headerQuery.fault === null && contentQuery.fault === null;
  return (
    <section aria-labelledby="events">
      <h2 id="events">Events of this topic</h2>
      {isValid && conditions.length === 0 && <p>Every event belongs to it.</p>}
      {isValid && conditions.length > 0 && (
        <>
          <p>An event belongs to it if</p>
          <ul class="conditions">
            {conditions.map((condition, at) => (
              <li key={condition}>
                {at > 0 && "and "}
                {condition}
              </li>
            ))}
          </ul>
        </>
      )}
      {notes.length > 0 && <p class="quiet">{notes.join(" ")}</p>}
      {members.map((member) => (
        <div key={member} class="field">
          <h3>{memberLabels[member]}</h3>
          <pre class="query">{topic[member] === "" ? "(empty)" : topic[member]}</pre>
          {topic.filters[member].fault !== null && <FilterDescription member={member} text={topic[member]} />}
        </div>
      ))}
    </section>
  );
}

interface DetailsProps {
  readonly topic: TopicDetail;
  readonly canWrite: boolean;
}

function Details({ topic, canWrite }: DetailsProps) {
  const { owner, description, contact, consumers, tags, labels, set, path, version } = topic.details;
  const { protected: isProtected, changedOn, changedBy } = topic.details;
  const drift = findDrift(topic);
  const labelTexts = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return (
    <section aria-labelledby="details">
      <div class="with-action">
        <h2 id="details">Details</h2>
        {canWrite && <Link href={`/topics/${getTopicPath(topic)}?tab=details`}>Edit details</Link>}
      </div>
      {version === 0 && <p>Nobody has described this topic yet: whose it is, and what it is for.</p>}
      <dl class="facts">
        <Fact name="Owner" value={owner}>
          <Link href={toListPath({ owner })}>{owner}</Link>
        </Fact>
        <Fact name="Description" value={description} />
        <Fact name="Contact" value={contact} />
        <Fact name="Consumers" value={consumers.map(({ name }) => name).join()}>
          {consumers.map(({ name, contact: at }) => (
            <div key={name}>{at === "" ? name : `${name} (${at})`}</div>
          ))}
        </Fact>
        <Fact name="Tags" value={tags.join()}>
          <TagLinks tags={tags} />
        </Fact>
        <Fact name="Labels" value={labelTexts.join()}>
          {labelTexts.map((label) => (
            <div key={label}>
              <code>{label}</code>
            </div>
          ))}
        </Fact>
        <Fact name="Set" value={set ?? ""}>
          <Link href={getSetPath(set ?? "")}>{set}</Link>
          {path !== null && (
            <>
              , in <code>{path}</code>
            </>
          )}
        </Fact>
        <Fact name="Protected" value={isProtected ? "A plan cannot disable it." : ""} />
      </dl>
      {drift !== undefined && <p class="warning">Since its set was applied, this topic was {drift}.</p>}
      {changedOn !== null && (
        <p class="quiet">
          Described <TimeAgo time={changedOn} /> by {formatUser(changedBy)}.
        </p>
      )}
    </section>
  );
}

export const TagLinks = ({ tags }: { readonly tags: readonly string[] }) => (
  <div class="tags">
    {tags.map((tag) => (
      <Link key={tag} class="badge plain" href={toListPath({ tag })}>
        {tag}
      </Link>
    ))}
  </div>
);

/** The list of topics with a detail. */
export const toListPath = (query: Readonly<Record<string, string | undefined>>): string =>
  `/topics?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, value ?? ""])).toString()}`;

interface FactProps {
  readonly name: string;
  /** Nothing is shown if it is empty. */
  readonly value: string | undefined;
  readonly children?: ComponentChildren;
}

const Fact = ({ name, value, children }: FactProps) =>
  value === undefined || value === "" ? null : (
    <>
      <dt>{name}</dt>
      <dd>{children ?? value}</dd>
    </>
  );

const Origin = ({ topic }: { readonly topic: TopicDetail }) => (
  <section aria-labelledby="origin">
    <h2 id="origin">Origin</h2>
    <dl class="facts">
      <dt>Created</dt>
      <dd>
        <TimeAgo time={topic.createdOn} />
      </dd>
      <dt>Version {topic.version}</dt>
      <dd>
        <TimeAgo time={topic.updatedOn} />, {describeSource(topic.source)}
      </dd>
      <dt>Id</dt>
      <dd>
        <code>{topic.id}</code>
      </dd>
    </dl>
  </section>
);
