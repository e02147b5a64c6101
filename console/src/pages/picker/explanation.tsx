import type { PickResponse } from "../../../../schemas/pick.ts";
import { Table } from "../../components/table.tsx";

type Explanation = NonNullable<PickResponse["explain"]>;

const filterLabels = { headerQuery: "Header", contentQuery: "Content" } as const;

export function ExplanationTable({ explanation }: { readonly explanation: Explanation }) {
  const { externalId, matches, conditions } = explanation;
  return (
    <article aria-labelledby="explanation" class={matches ? "well" : "failure"}>
      <h2 id="explanation">
        The event {matches ? "matches" : "does not match"} {externalId}
      </h2>
      {conditions.length === 0 ? (
        <p>The topic has no conditions, so every event matches.</p>
      ) : (
        <Table label="Conditions" columns={["Filter", "Condition", "Matched", "Value in the event"]}>
          {conditions.map(({ filter, condition, held, found, note }) => (
            <tr key={`${filter} ${condition}`}>
              <td>{filterLabels[filter]}</td>
              <td>
                <code>{condition}</code>
              </td>
              <td>
                <span aria-hidden="true">{held ? "✓" : "✗"}</span> {held ? "yes" : "no"}
              </td>
              <td>
                {found.length === 0 ? "none" : found.join(", ")}
                {note !== undefined && ` (${note})`}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </article>
  );
}
