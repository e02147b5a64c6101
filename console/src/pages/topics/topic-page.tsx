import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";

import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { useAddress } from "../../address.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Page } from "../../components/page.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useQuery } from "../../query.ts";
import { useRight } from "../../session.ts";
import { Change } from "./change.tsx";
import { DetailsForm } from "./form/details-form.tsx";
import { History } from "./history.tsx";
import { Overview } from "./overview.tsx";
import { Relations } from "./relations.tsx";
import { describeSource, getTopicPath, topicsPath } from "./source.ts";

/** A topic, and everything that is known about it. */
export function TopicPage({ id }: { readonly id: string }) {
  const query = useQuery<TopicDetail>(`${topicsPath}/${encodeURIComponent(id)}`);
  const [updated, setUpdated] = useState<TopicDetail>();
  const topic = updated ?? query.value;
  return (
    <Page name={topic?.name ?? "Topic"}>
      {topic === undefined ? (
        <p>
          <Link href="/topics">All topics</Link>
        </p>
      ) : (
        <Summary topic={topic} />
      )}
      {query.error !== undefined && <ErrorMessage error={query.error} retry={query.refetch} />}
      {query.loading && <p aria-busy="true">Loading …</p>}
      {topic !== undefined && <Tab topic={topic} onChange={setUpdated} />}
    </Page>
  );
}

const states = { active: "Active", retired: "Retired", disabled: "Disabled" } as const;

function Summary({ topic }: { readonly topic: TopicDetail }) {
  const { state, externalId, namespace, version, details, retiredOn, retiredBy } = topic;
  const isActive = state === "active";
  return (
    <>
      <div class="summary">
        <span role="status" class={`badge ${isActive ? "good" : "bad"}`}>
          {states[state]}
        </span>
        <code>{externalId}</code>
        <span>{namespace === "" ? "no namespace" : `in ${namespace}`}</span>
        <span>version {version}</span>
        <Link href="/topics">All topics</Link>
      </div>
      {retiredBy !== undefined && retiredOn !== undefined && (
        <article class="failure">
          <p>
            No event matches this topic: it was {state} <TimeAgo time={retiredOn} />,{" "}
            {describeSource(retiredBy)}.
          </p>
        </article>
      )}
      {isActive && details.lifecycle === "deprecated" && <Deprecated details={details} />}
    </>
  );
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeZone: "UTC" });

function Deprecated({ details: { sunset, replacedBy } }: Pick<TopicDetail, "details">) {
  return (
    <article class="failure">
      <p>
        <strong>This topic is deprecated.</strong>
        {sunset !== null && ` It may be gone from ${dayFormat.format(new Date(sunset))} on.`}
        {replacedBy !== "" && (
          <>
            {" Use "}
            <Link href={`/topics/${encodeURIComponent(replacedBy)}`}>{replacedBy}</Link>
            {" instead."}
          </>
        )}
      </p>
    </article>
  );
}

interface TabProps {
  readonly topic: TopicDetail;
  readonly onChange: (topic: TopicDetail) => void;
}

/** The part of the page that the address names. */
function Tab({ topic, onChange }: TabProps) {
  const { query } = useAddress("/topics");
  const canWrite = useRight("topics.write");
  const path = `/topics/${getTopicPath(topic)}`;
  const chosen = query.get("tab") ?? "overview";
  const tabs = {
    overview: "Overview",
    ...(topic.state === "active" && canWrite && { change: "Change" }),
    history: "History",
    ...(topic.state === "active" && { relations: "Relations" }),
  };
  return (
    <>
      <Tabs
        label="Parts of the topic"
        tabs={Object.entries(tabs).map(([key, name]) => ({
          name,
          href: key === "overview" ? path : `${path}?tab=${key}`,
          isCurrent: chosen === key || (key === "overview" && chosen === "details"),
        }))}
      />
      {renderTab(chosen, { topic, onChange, canWrite, from: query.get("from") })}
    </>
  );
}

interface TabContext extends TabProps {
  readonly canWrite: boolean;
  /** The version that a change starts from. */
  readonly from: string | null;
}

function renderTab(chosen: string, { topic, onChange, canWrite, from }: TabContext): ComponentChildren {
  if (chosen === "history") return <History topic={topic} onChange={onChange} />;
  if (chosen === "relations") return <Relations topic={topic} />;
  if (chosen !== "change" && chosen !== "details") return <Overview topic={topic} onChange={onChange} />;
  if (!canWrite)
    return (
      <p>
        Changing topics requires the right <code>topics.write</code>. An administrator can grant it.
      </p>
    );
  if (chosen === "details") return <DetailsForm topic={topic} onChange={onChange} />;
  if (topic.state !== "active") return <p>Only active topics can be changed. Restore a version instead.</p>;
  return from === null ? (
    <Change topic={topic} onChange={onChange} />
  ) : (
    <ChangeFrom topic={topic} version={from} onChange={onChange} />
  );
}

/** A change that starts from an earlier version. */
function ChangeFrom({ topic, version, onChange }: TabProps & { readonly version: string }) {
  const parameters = new URLSearchParams({ version });
  const { value, error, refetch } = useQuery<TopicDetail>(
    `${topicsPath}/${getTopicPath(topic)}?${parameters.toString()}`,
  );
  if (error !== undefined) return <ErrorMessage error={error} retry={refetch} />;
  if (value === undefined) return <p aria-busy="true">Loading version {version} …</p>;
  const { name, namespace, headerQuery, contentQuery } = value;
  return <Change topic={topic} from={{ name, namespace, headerQuery, contentQuery }} onChange={onChange} />;
}
