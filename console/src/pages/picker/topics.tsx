import { Link } from "wouter-preact";

import type { PickResponse } from "../../../../schemas/pick.ts";
import { formatCount } from "../../components/format.ts";
import { Table } from "../../components/table.tsx";

interface MatchingTopicsProps extends Pick<PickResponse, "topics" | "total"> {
  readonly explain: (externalId: string) => void;
}

/** An event that matches more topics usually means that a filter is missing. */
const maxShown = 200;

export function MatchingTopics({ topics, total, explain }: MatchingTopicsProps) {
  // Only a router forwards events to Kafka topics.
  const hasEgress = topics.some(({ egressTopic }) => egressTopic !== undefined);
  return (
    <article aria-labelledby="topics">
      <div role="status">
        <h2 id="topics">{formatHeading(total)}</h2>
      </div>
      {topics.length === 0 && (
        <p>
          Use the form below to see why a topic does not match. If there are no topics yet,{" "}
          <Link href="/topics?create">create the first one</Link>.
        </p>
      )}
      {topics.length > 0 && (
        <Table
          label="Matching topics"
          columns={["Name", "Namespace", "External id", ...(hasEgress ? ["Kafka topic"] : []), ""]}
        >
          {topics.slice(0, maxShown).map(({ id, name, namespace, externalId, egressTopic, egressFault }) => (
            <tr key={id}>
              <th scope="row">{name}</th>
              <td>{namespace}</td>
              <td>
                <code>{externalId}</code>
              </td>
              {hasEgress && (
                <td>
                  {egressTopic === undefined ? "–" : <code>{egressTopic}</code>}
                  {egressFault !== undefined && (
                    <small>
                      <br />
                      {egressFault}
                    </small>
                  )}
                </td>
              )}
              <td>
                <button
                  type="button"
                  class="small outline"
                  aria-label={`Why ${name}?`}
                  onClick={() => {
                    explain(externalId);
                  }}
                >
                  Why?
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {total > maxShown && (
        <p>
          <small>Showing the first {maxShown} by external id.</small>
        </p>
      )}
    </article>
  );
}

function formatHeading(count: number): string {
  if (count === 0) return "The event matches no topic";
  return `The event matches ${formatCount(count)} ${count === 1 ? "topic" : "topics"}`;
}
