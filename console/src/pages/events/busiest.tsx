import { formatCount } from "../../components/format.ts";
import { RightLink } from "../../components/right-link.tsx";
import { Table } from "../../components/table.tsx";
import { useRight } from "../../session.ts";
import { canBeInPath } from "../topics/source.ts";
import type { RouterStatus } from "./router.ts";

type BusyTopics = RouterStatus["busiest"];

/** The topics that most events belong to. */
export function BusiestTopics({ topics }: { readonly topics: BusyTopics }) {
  const canView = useRight("topics.read");
  return (
    <article aria-labelledby="busiest">
      <h2 id="busiest">Busiest topics</h2>
      {!canView && (
        <p>
          Viewing topics requires the right <code>topics.read</code>.
        </p>
      )}
      {canView && (topics.length === 0 ? <NoEvents /> : <BusiestTable topics={topics} />)}
    </article>
  );
}

const NoEvents = () => (
  <p>
    No event has matched a topic since this instance started. Create a topic on the page{" "}
    <RightLink right="topics.read" href="/topics">
      Topics
    </RightLink>
    , and try its filters on the page{" "}
    <RightLink right="topics.read" href="/picker">
      Picker
    </RightLink>
    .
  </p>
);

function BusiestTable({ topics }: { readonly topics: BusyTopics }) {
  const largest = Math.max(...topics.map(({ events }) => events));
  return (
    <Table label="Busiest topics" columns={["Topic", "Events", ""]}>
      {topics.map(({ externalId, events }) => (
        <tr key={externalId}>
          <th scope="row" class="text">
            <TopicLink externalId={externalId} />
          </th>
          <td>{formatCount(events)}</td>
          <td>
            <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect class="active" width={(100 * events) / largest} height="10" />
            </svg>
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Plain text if the external id cannot be part of an address. */
const TopicLink = ({ externalId }: { readonly externalId: string }) =>
  canBeInPath(externalId) ? (
    <RightLink right="topics.read" href={`/topics/${encodeURIComponent(externalId)}`}>
      {externalId}
    </RightLink>
  ) : (
    <>{externalId}</>
  );
