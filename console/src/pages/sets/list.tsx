import { Link } from "wouter-preact";

import type { TopicSetView } from "../../../../schemas/topics/sets.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Page } from "../../components/page.tsx";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useQuery } from "../../query.ts";
import { formatUser } from "../topics/source.ts";
import { formatChanges } from "./applies.tsx";
import { getSetPath, setsPath } from "./paths.ts";

/** The sets of topics that are managed from files. */
export function SetList() {
  const { value, error, loading, refetch } = useQuery<{ readonly sets: readonly TopicSetView[] }>(setsPath);
  const sets = value?.sets ?? [];
  return (
    <Page name="Sets">
      <p>
        <Link href="/topics">All topics</Link>
      </p>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {loading && value === undefined && <p aria-busy="true">Loading …</p>}
      {value !== undefined && sets.length === 0 && (
        <p>
          No topics are managed from files. <code>topicsync topics plan</code> compares files with what is
          stored, and <code>topicsync topics apply</code> stores them as a set.
        </p>
      )}
      {sets.length > 0 && (
        <Table label="Sets" columns={["Set", "Repository", "Last apply", "By", "Revision", "Changes"]}>
          {sets.map(({ name, origin, applies: [last] }) => (
            <tr key={name}>
              <th scope="row" class="text">
                <Link href={getSetPath(name)}>{name}</Link>
              </th>
              <td class="text">{origin}</td>
              <td>{last !== undefined && <TimeAgo time={last.endedOn} />}</td>
              <td>{last !== undefined && formatUser(last.by)}</td>
              <td class="text">{last?.revision}</td>
              <td>{last !== undefined && formatChanges(last)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Page>
  );
}
