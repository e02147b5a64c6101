import type { PickResponse } from "../../../../schemas/pick.ts";
import { counted } from "../../components/format.ts";
import { Table } from "../../components/table.tsx";

interface TopicsProps {
  readonly topics: PickResponse["topics"];
  readonly explain: (externalId: string) => void;
}

/** So many are shown; an event that belongs to more has a filter missing somewhere. */
const maxShown = 200;

/** The topics that an event belongs to. */
export function Topics({ topics, explain }: TopicsProps) {
  return (
    <article aria-labelledby="topics">
      <div role="status">
        <h2 id="topics">{heading(topics.length)}</h2>
      </div>
      {topics.length === 0 && <p>Ask below why a topic is not among them.</p>}
      {topics.length > 0 && (
        <Table label="Its topics" columns={["Name", "Namespace", "External id", ""]}>
          {topics.slice(0, maxShown).map(({ id, name, namespace, externalId }) => (
            <tr key={id}>
              <th scope="row">{name}</th>
              <td>{namespace}</td>
              <td>
                <code>{externalId}</code>
              </td>
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
      {topics.length > maxShown && (
        <p>
          <small>The first {maxShown} by external id.</small>
        </p>
      )}
    </article>
  );
}

function heading(count: number): string {
  if (count === 0) return "The event belongs to no topic";
  return `The event belongs to ${counted(count)} ${count === 1 ? "topic" : "topics"}`;
}
