import type { TopicView } from "../../../../schemas/topic-view.ts";
import { When } from "../../components/time-ago.tsx";
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
          {(Object.keys(members) as (keyof typeof members)[])
            .filter((member) => previous[member] !== topic[member])
            .map((member) => (
              <dl key={member} class="facts">
                <dt>{members[member]} before</dt>
                <dd>
                  <pre class="query was">{previous[member] === "" ? "(empty)" : previous[member]}</pre>
                </dd>
                <dt>now</dt>
                <dd>
                  <pre class="query now">{topic[member] === "" ? "(empty)" : topic[member]}</pre>
                </dd>
              </dl>
            ))}
        </>
      )}
    </section>
  );
}
