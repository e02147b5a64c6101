import type { TopicView } from "../../../../schemas/topic-view.ts";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { sourceWords } from "./source.ts";

const members = {
  name: "Name",
  namespace: "Namespace",
  headerQuery: "Header query",
  contentQuery: "Content query",
} as const;

/** What a topic was before its definition changed: what was different, and where that came from. */
export function Before({ topic }: { readonly topic: TopicView }) {
  const { previous } = topic;
  return (
    <section>
      <h2>Before</h2>
      {previous === undefined ? (
        <p>It has had no other definition.</p>
      ) : (
        <>
          <p>
            It was {sourceWords(previous.source)}, and so from <When time={previous.updatedOn} /> on.
          </p>
          <Table label="What changed" columns={["", "Before", "Now"]}>
            {(Object.keys(members) as (keyof typeof members)[])
              .filter((member) => previous[member] !== topic[member])
              .map((member) => (
                <tr key={member}>
                  <th scope="row">{members[member]}</th>
                  <td>
                    <Value text={previous[member]} mark="del" />
                  </td>
                  <td>
                    <Value text={topic[member]} mark="ins" />
                  </td>
                </tr>
              ))}
          </Table>
        </>
      )}
    </section>
  );
}

function Value({ text, mark: Mark }: { readonly text: string; readonly mark: "del" | "ins" }) {
  if (text === "") return <>(empty)</>;
  return (
    <Mark>
      <code>{text}</code>
    </Mark>
  );
}
