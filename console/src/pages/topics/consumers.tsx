import { useEffect } from "preact/hooks";
import { Link } from "wouter-preact";

import type { TopicConsumersView } from "../../../../schemas/topic-consumers.ts";
import type { TopicDetail } from "../../../../schemas/topic-view.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { formatCount } from "../../components/format.ts";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useQuery } from "../../query.ts";
import { useRight } from "../../session.ts";
import { getTopicPath, topicsPath } from "./source.ts";

/** Who reads the events of a topic: what Kafka knows, and what teams say. */
export function Consumers({ topic }: { readonly topic: TopicDetail }) {
  const query = useQuery<TopicConsumersView>(`${topicsPath}/${getTopicPath(topic)}/consumers`);
  const { value, refetch } = query;
  const isReading = value?.observed.reading === true;
  useEffect(() => {
    if (!isReading || query.loading) return undefined;
    const timer = setTimeout(refetch, pollIntervalMs);
    return () => {
      clearTimeout(timer);
    };
  }, [isReading, query.loading]);
  return (
    <div class="columns">
      <section aria-labelledby="observed">
        <h2 id="observed">Observed</h2>
        {query.error !== undefined && <ErrorMessage error={query.error} retry={refetch} />}
        {value === undefined && query.loading && <p aria-busy="true">Loading …</p>}
        {value !== undefined && <Observed consumers={value} />}
      </section>
      <Declared topic={topic} />
    </div>
  );
}

/** Reading all consumer groups takes seconds. */
const pollIntervalMs = 2_000;

function Observed({ consumers }: { readonly consumers: TopicConsumersView }) {
  const { egressTopic, observed, notes } = consumers;
  const { asOf, groups, problems, reading } = observed;
  return (
    <>
      {egressTopic !== null && (
        <p role="status">
          Consumer groups with offsets in the Kafka topic <code>{egressTopic}</code>
          {asOf !== null && (
            <>
              , as of <TimeAgo time={asOf} />
            </>
          )}
          . {reading && "They are being read again."}
        </p>
      )}
      {groups.length > 0 && <Groups groups={groups} />}
      {groups.length === 0 && asOf !== null && egressTopic !== null && <p>None.</p>}
      {problems.map((problem) => (
        <p key={problem} class="warning">
          {problem}
        </p>
      ))}
      {notes.map((note) => (
        <p key={note} class={consumers.sharedBy === "topic" ? "quiet" : ""}>
          {note}
        </p>
      ))}
    </>
  );
}

type Group = TopicConsumersView["observed"]["groups"][number];

const Groups = ({ groups }: { readonly groups: readonly Group[] }) => (
  <Table label="Consumer groups" columns={["Group", "State", "Members", "Lag"]}>
    {groups.map(({ group, state, memberCount, members, lag }) => (
      <tr key={group}>
        <th scope="row" class="text">
          {group}
        </th>
        <td>{state}</td>
        <td>
          {formatCount(memberCount)}
          {members?.map(({ clientId, host }, at) => (
            <div key={at} class="quiet">
              {clientId} ({host.replace(/^\//u, "")})
            </div>
          ))}
        </td>
        <td>{formatCount(lag)}</td>
      </tr>
    ))}
  </Table>
);

function Declared({ topic }: { readonly topic: TopicDetail }) {
  const canWrite = useRight("topics.write");
  const { consumers } = topic.details;
  return (
    <section aria-labelledby="declared">
      <div class="with-action">
        <h2 id="declared">Declared</h2>
        {canWrite && <Link href={`/topics/${getTopicPath(topic)}?tab=details`}>Edit</Link>}
      </div>
      {consumers.length === 0 ? (
        <p>Nobody has declared to read this topic. Declare consumers in its details.</p>
      ) : (
        <Table label="Declared consumers" columns={["Name", "Contact"]}>
          {consumers.map(({ name, contact }) => (
            <tr key={name}>
              <th scope="row" class="text">
                {name}
              </th>
              <td class="text">{contact}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
