import { Link } from "wouter-preact";

import type { EventTypeList } from "../../../../schemas/event-types.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { formatCount } from "../../components/format.ts";
import { Page } from "../../components/page.tsx";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useQuery } from "../../query.ts";
import { canBeInPath } from "../topics/source.ts";
import { Share } from "./share.tsx";

export const eventTypesPath = "/api/topicsync/v1/event-types";

/** All event types, the most frequent first. */
export function EventTypeListPage() {
  const { value, error, loading, refetch } = useQuery<EventTypeList>(eventTypesPath);
  const types = value?.eventTypes ?? [];
  return (
    <Page name="Event types">
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {loading && value === undefined && <p aria-busy="true">Loading …</p>}
      {value !== undefined && types.length === 0 && (
        <p>
          No event types are known yet. The router learns them within a minute; without one, use{" "}
          <code>topicsync events learn</code>.
        </p>
      )}
      {types.length > 0 && (
        <Table label="Event types" columns={["Event type", "Events", "Share", "Paths", "Last event"]}>
          {types.map(({ name, events, share, pathCount, complete, lastOn }) => (
            <tr key={name}>
              <th scope="row" class="text">
                {canBeInPath(name) ? (
                  <Link href={`/event-types/${encodeURIComponent(name)}`}>{formatType(name)}</Link>
                ) : (
                  name
                )}
              </th>
              <td>{formatCount(events)}</td>
              <td>
                <Share share={share} />
              </td>
              <td>
                {formatCount(pathCount)}
                {!complete && "+"}
              </td>
              <td>
                <TimeAgo time={lastOn} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Page>
  );
}

/** "-" stands for events without a type. */
export const formatType = (name: string): string => (name === "-" ? "(no event type)" : name);
