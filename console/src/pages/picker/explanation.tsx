import type { PickResponse } from "../../../../schemas/pick.ts";
import { Table } from "../../components/table.tsx";

type Explanation = NonNullable<PickResponse["explain"]>;

const filters = { headerQuery: "Header", contentQuery: "Content" } as const;

/** Why an event belongs to a topic or not, condition by condition. */
export function ExplanationTable({ explanation }: { readonly explanation: Explanation }) {
  const { externalId, matches, conditions } = explanation;
  return (
    <article aria-labelledby="explanation" class={matches ? "well" : "failure"}>
      <h2 id="explanation">
        The event {matches ? "belongs" : "does not belong"} to {externalId}
      </h2>
      {conditions.length === 0 ? (
        <p>The topic has no conditions: every event belongs to it.</p>
      ) : (
        <Table label="Conditions" columns={["Filter", "Condition", "Held", "The event has"]}>
          {conditions.map(({ filter, condition, held, found }) => (
            <tr key={`${filter} ${condition}`}>
              <td>{filters[filter]}</td>
              <td>
                <code>{condition}</code>
              </td>
              <td>
                <span aria-hidden="true">{held ? "✓" : "✗"}</span> {held ? "yes" : "no"}
              </td>
              <td>{found.length === 0 ? "nothing there" : found.join(", ")}</td>
            </tr>
          ))}
        </Table>
      )}
    </article>
  );
}
