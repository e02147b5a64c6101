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

type Sample = NonNullable<EventTypeList["sample"]>;

export const eventTypesPath = "/api/topicsync/v1/event-types";

/** The types of the last events, the most frequent first. */
export function EventTypeListPage() {
  const { value, error, loading, refetch } = useQuery<EventTypeList>(eventTypesPath);
  const types = value?.eventTypes ?? [];
  return (
    <Page name="Event types">
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {loading && value === undefined && <p aria-busy="true">Loading …</p>}
      {value?.reason !== undefined && <p>{value.reason}</p>}
      {value?.sample !== undefined && (
        <p>
          The <SampleText sample={value.sample} />
        </p>
      )}
      {types.length > 0 && (
        <Table label="Event types" columns={["Event type", "Events", "Share", "Paths"]}>
          {types.map(({ name, events, share, pathCount, complete }) => (
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
            </tr>
          ))}
        </Table>
      )}
    </Page>
  );
}

/** How many events were read, and from when, after "the". */
export function SampleText({ sample: { events, rejected, from, to } }: { readonly sample: Sample }) {
  return (
    <>
      last {formatCount(events)} events
      {from !== null && to !== null && (
        <>
          , from <TimeAgo time={from} /> to <TimeAgo time={to} />
        </>
      )}
      .{rejected > 0 && ` ${formatCount(rejected)} records between them are not valid events.`}
    </>
  );
}

/** "-" stands for events without a type. */
export const formatType = (name: string): string => (name === "-" ? "(no event type)" : name);
