import { Link } from "wouter-preact";

import type { TopicList } from "../../../../schemas/topics/list.ts";
import type { TopicSetView } from "../../../../schemas/topics/sets.ts";
import type { TopicView } from "../../../../schemas/topics/view.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Page } from "../../components/page.tsx";
import { Pager, toPagePath, usePaging } from "../../components/pager.tsx";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useQuery } from "../../query.ts";
import { findDrift } from "../topics/drift.ts";
import { formatUser, getTopicPath, topicsPath } from "../topics/source.ts";
import { Applies } from "./applies.tsx";
import { setsPath } from "./paths.ts";

/** A set: where it comes from, its applies, and its topics. */
export function SetPage({ name }: { readonly name: string }) {
  const query = useQuery<TopicSetView>(`${setsPath}/${encodeURIComponent(name)}`);
  return (
    <Page name={name}>
      <p>
        <Link href="/sets">All sets</Link>
      </p>
      {query.error !== undefined && <ErrorMessage error={query.error} retry={query.refetch} />}
      {query.loading && query.value === undefined && <p aria-busy="true">Loading …</p>}
      {query.value !== undefined && <Details set={query.value} />}
    </Page>
  );
}

function Details({ set: { name, origin, createdOn, createdBy, applies } }: { readonly set: TopicSetView }) {
  return (
    <>
      <dl class="facts">
        <dt>Repository</dt>
        <dd>{origin ?? "unknown"}</dd>
        <dt>Created</dt>
        <dd>
          <TimeAgo time={createdOn} />, by {formatUser(createdBy)}
        </dd>
      </dl>
      <section aria-labelledby="members">
        <h2 id="members">Topics</h2>
        <Members name={name} />
      </section>
      <section aria-labelledby="applies">
        <h2 id="applies">Last applies</h2>
        <Applies applies={applies} />
      </section>
    </>
  );
}

function Members({ name }: { readonly name: string }) {
  const paging = usePaging(name);
  const path = toPagePath(topicsPath, paging, { set: name });
  const { value, error, loading, refetch } = useQuery<TopicList>(path);
  return (
    <>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {value !== undefined && value.topics.length > 0 && (
        <Table label="Topics of the set" columns={["Topic", "File", "Since the last apply"]}>
          {value.topics.map((topic) => (
            <Member key={topic.externalId} topic={topic} />
          ))}
        </Table>
      )}
      <p role="status" aria-busy={loading}>
        {loading && "Loading …"}
        {value?.topics.length === 0 && "No active topics."}
      </p>
      <Pager paging={paging} next={loading ? null : (value?.next ?? null)} />
      <p class="quiet">
        <code>topicsync topics plan --drift</code> also compares details, and lists topics that are not active
        any more.
      </p>
    </>
  );
}

function Member({ topic }: { readonly topic: TopicView }) {
  const drift = findDrift(topic);
  return (
    <tr>
      <th scope="row" class="text">
        <Link href={`/topics/${getTopicPath(topic)}`}>{topic.name}</Link>
        <div class="quiet">{topic.externalId}</div>
      </th>
      <td>{topic.details?.path !== null && <code>{topic.details?.path}</code>}</td>
      <td>{drift === undefined ? "unchanged" : <p class="warning">{drift}</p>}</td>
    </tr>
  );
}
