import { Link } from "wouter-preact";

import type { EventTypeView } from "../../../../schemas/event-types.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { formatCount } from "../../components/format.ts";
import { Page } from "../../components/page.tsx";
import { Table } from "../../components/table.tsx";
import { useQuery } from "../../query.ts";
import { eventTypesPath, formatType, SampleText } from "./list.tsx";
import { Share } from "./share.tsx";

/** An event type with its paths. */
export function EventTypePage({ name }: { readonly name: string }) {
  const query = useQuery<EventTypeView>(`${eventTypesPath}/${encodeURIComponent(name)}`);
  return (
    <Page name={formatType(name)}>
      <p>
        <Link href="/event-types">All event types</Link>
      </p>
      {query.error !== undefined && <ErrorMessage error={query.error} retry={query.refetch} />}
      {query.loading && query.value === undefined && <p aria-busy="true">Loading …</p>}
      {query.value !== undefined && <Details type={query.value} />}
    </Page>
  );
}

function Details({ type }: { readonly type: EventTypeView }) {
  const { sample, events, complete, paths } = type;
  return (
    <>
      <p>
        {formatCount(events)} of the <SampleText sample={sample} />{" "}
        {!complete && "There are more paths than these."}
      </p>
      <Table label="Paths" columns={["Path", "Events", "Kinds", "Values"]}>
        {paths.map(({ path, share, kinds, values = [], ...place }) => (
          <tr key={path}>
            <th scope="row" class="text code">
              {isComparable(kinds) ? (
                <Link href={getDraftPath(type.name, place)} title="Create a topic with it">
                  {path}
                </Link>
              ) : (
                path
              )}
            </th>
            <td>
              <Share share={share} />
            </td>
            <td>{Object.keys(kinds).join(", ")}</td>
            <td class="text">{values.join(", ")}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

type Path = EventTypeView["paths"][number];

const isComparable = ({ string = 0, number = 0, boolean = 0 }: Path["kinds"]): boolean =>
  string + number + boolean > 0;

/** The address of a new topic with the beginning of a filter. */
function getDraftPath(type: string, { filter, name }: Pick<Path, "filter" | "name">): string {
  const onType = type === "-" ? [] : [`eventType=${encodeURIComponent(type)}`];
  const draft =
    filter === "contentQuery"
      ? { headerQuery: onType.join(""), contentQuery: `${name}=` }
      : { headerQuery: name === "eventType" ? onType.join("") : [...onType, `${name}=`].join("&") };
  return `/topics?${new URLSearchParams({ create: "", ...draft }).toString()}`;
}
