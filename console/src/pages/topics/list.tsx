import { Link } from "wouter-preact";

import type { TopicList as TopicListBody } from "../../../../schemas/topics/list.ts";
import type { TopicView } from "../../../../schemas/topics/view.ts";
import { useAddress } from "../../address.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Page } from "../../components/page.tsx";
import { Pager, toPagePath, usePaging } from "../../components/pager.tsx";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useQuery } from "../../query.ts";
import { useRight } from "../../session.ts";
import { isFiltered, ListOptionsForm, readListOptions, toQuery, type ListOptions } from "./list-options.tsx";
import { TagLinks, toListPath } from "./overview.tsx";
import { getTopicPath, topicsPath } from "./source.ts";

export function TopicList() {
  const { query, setQuery } = useAddress("/topics");
  const canWrite = useRight("topics.write");
  const options = readListOptions(query);
  const listQuery = toQuery(options);
  const paging = usePaging(listQuery);
  const path = toPagePath(topicsPath, paging, Object.fromEntries(new URLSearchParams(listQuery)));
  const { value, error, loading, refetch } = useQuery<TopicListBody>(path);
  const topics = value?.topics ?? [];
  const isEmpty = error === undefined && !loading && topics.length === 0;
  return (
    <Page name="Topics">
      <p class="topic-actions">
        {canWrite && <Link href="/topics?create">Create a topic</Link>}
        <Link href="/sets">Sets</Link>
      </p>
      <ListOptionsForm options={options} onChange={setQuery} />
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {topics.length > 0 && <TopicTable topics={topics} state={options.state} />}
      <p role="status" aria-busy={loading}>
        {loading && "Loading …"}
        {isEmpty && "No topics."}
      </p>
      {isEmpty && <EmptyHint options={options} isFirstPage={paging.page === 1} />}
      <Pager paging={paging} next={loading ? null : (value?.next ?? null)} />
    </Page>
  );
}

interface TopicTableProps {
  readonly topics: readonly TopicView[];
  readonly state: string;
}

function TopicTable({ topics, state }: TopicTableProps) {
  const timeHeading = state === "retired" ? "Retired" : state === "disabled" ? "Disabled" : "Changed";
  return (
    <Table label="Topics" columns={["Topic", "Namespace", "Owner", "Tags", "Last event", timeHeading]}>
      {topics.map((topic) => (
        <TopicRow key={topic.externalId} topic={topic} />
      ))}
    </Table>
  );
}

function TopicRow({ topic }: { readonly topic: TopicView }) {
  const { name, externalId, namespace, details, lastEventOn, retiredOn, updatedOn } = topic;
  const { owner = "", tags = [], lifecycle } = details ?? {};
  return (
    <tr>
      <th scope="row" class="text">
        <Link href={`/topics/${getTopicPath(topic)}`}>{name}</Link>{" "}
        {lifecycle === "deprecated" && <span class="badge bad">deprecated</span>}
        <div class="quiet">{externalId}</div>
      </th>
      <td>{namespace}</td>
      <td>{owner !== "" && <Link href={toListPath({ owner })}>{owner}</Link>}</td>
      <td>
        <TagLinks tags={tags} />
      </td>
      <td>{lastEventOn !== undefined && <TimeAgo time={lastEventOn} />}</td>
      <td>
        <TimeAgo time={retiredOn ?? updatedOn} />
      </td>
    </tr>
  );
}

interface EmptyHintProps {
  readonly options: ListOptions;
  readonly isFirstPage: boolean;
}

function EmptyHint({ options, isFirstPage }: EmptyHintProps) {
  if (!isFirstPage) return <p>The previous page was the last one.</p>;
  if (isFiltered(options))
    return (
      <p>
        No topics match. Owner, tag, set and namespace must be given as a whole.{" "}
        <Link href="/topics">Show all topics</Link>
      </p>
    );
  if (options.state === "retired") return <p>No topic has been retired by an announcement.</p>;
  if (options.state === "disabled") return <p>No topic has been disabled.</p>;
  return (
    <p>
      <Link href="/topics?create">Create the first topic</Link>, or announce it: send its definition to the
      announcements topic in Kafka.
    </p>
  );
}
