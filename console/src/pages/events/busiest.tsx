import { roles } from "../../../../schemas/roles.ts";
import { formatCount } from "../../components/format.ts";
import { RoleLink } from "../../components/role-link.tsx";
import { Table } from "../../components/table.tsx";
import { useSession } from "../../session.ts";
import { canBeInPath } from "../topics/source.ts";
import type { RouterStatus } from "./router.ts";

type BusyTopics = RouterStatus["busiest"];

/** The topics that most events belong to. */
export function BusiestTopics({ topics }: { readonly topics: BusyTopics }) {
  const canView = useSession().session.roles.includes(roles.eventManagement);
  return (
    <article aria-labelledby="busiest">
      <h2 id="busiest">Busiest topics</h2>
      {!canView && (
        <p>
          Viewing topics requires the role <code>{roles.eventManagement}</code>.
        </p>
      )}
      {canView && (topics.length === 0 ? <NoEvents /> : <BusiestTable topics={topics} />)}
    </article>
  );
}

const NoEvents = () => (
  <p>
    No event has matched a topic since this instance started. Create a topic on the page{" "}
    <RoleLink role={roles.eventManagement} href="/topics">
      Topics
    </RoleLink>
    , and try its filters on the page{" "}
    <RoleLink role={roles.eventManagement} href="/picker">
      Picker
    </RoleLink>
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
    <RoleLink role={roles.eventManagement} href={`/topics/${encodeURIComponent(externalId)}`}>
      {externalId}
    </RoleLink>
  ) : (
    <>{externalId}</>
  );
