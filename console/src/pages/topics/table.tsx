import { Link } from "wouter-preact";

import type { TopicView } from "../../../../schemas/topic-view.ts";
import { Table } from "../../components/table.tsx";
import { When } from "../../components/time-ago.tsx";
import { getTopicPath, briefSource } from "./source.ts";

interface TopicTableProps {
  readonly topics: readonly TopicView[];
  readonly state: string;
}

/** Topics, each with the way to it. */
export function TopicTable({ topics, state }: TopicTableProps) {
  const when = state === "active" ? "Changed" : state === "retired" ? "Retired" : "Disabled";
  return (
    <Table label="Topics" columns={["Name", "Namespace", "External id", "From", when]}>
      {topics.map((topic) => (
        <tr key={topic.externalId}>
          <th scope="row">
            <Link href={`/topics/${getTopicPath(topic)}`}>{topic.name}</Link>
          </th>
          <td>{topic.namespace}</td>
          <td>
            <code>{topic.externalId}</code>
          </td>
          <td>{briefSource(topic.source)}</td>
          <td>
            <When time={topic.retiredOn ?? topic.updatedOn} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
