import type { TopicSetView } from "../../../../schemas/topics/sets.ts";
import { formatCount } from "../../components/format.ts";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { formatUser } from "../topics/source.ts";

type Apply = TopicSetView["applies"][number];

/** How many changes of an apply are stored. */
export const formatChanges = ({ applied, total }: Apply): string =>
  applied === total
    ? formatCount(total)
    : `${formatCount(applied)} of ${formatCount(total)}: repeat the apply`;

/** The last applies of a set. */
export function Applies({ applies }: Pick<TopicSetView, "applies">) {
  if (applies.length === 0) return <p>None.</p>;
  return (
    <Table label="Applies" columns={["When", "By", "Revision", "Changes", "Plan"]}>
      {applies.map((apply) => (
        <tr key={`${apply.plan} ${apply.startedOn}`}>
          <td>
            <TimeAgo time={apply.endedOn} />
          </td>
          <td>{formatUser(apply.by)}</td>
          <td class="text">{apply.revision}</td>
          <td>{formatChanges(apply)}</td>
          <td>
            <code>{apply.plan.slice(0, planCharacters)}</code>
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Enough to tell plans apart. */
const planCharacters = 12;
