import { formatCount } from "../../components/format.ts";
import type { RouterStatus } from "./router.ts";

const consumerNotes: Readonly<Record<RouterStatus["consumer"], string | undefined>> = {
  assigned: undefined,
  joining: "This instance is joining the consumer group.",
  dead: "The consumer of this instance has failed. Restart the instance; its log has the reason.",
  none: "This instance does not read events.",
};

/** Whether events can be matched: the topics must be in memory. */
export function IndexState({ router: { index, consumer } }: { readonly router: RouterStatus }) {
  const isLive = index?.state === "live" && consumer !== "dead";
  const note = consumerNotes[consumer];
  return (
    <article class={isLive ? "well" : "failure"} aria-labelledby="index">
      <div role="status">
        <h2 id="index">{formatHeading(index)}</h2>
      </div>
      {index !== null && <Progress index={index} />}
      {note !== undefined && <p>{note}</p>}
    </article>
  );
}

type Index = NonNullable<RouterStatus["index"]>;

function formatHeading(index: Index | null): string {
  switch (index?.state) {
    case "live":
      return `Events are matched against ${formatCount(index.topics)} ${index.topics === 1 ? "topic" : "topics"}`;
    case "loading":
      return "Topics are being loaded";
    case "reloading":
      return "Topics are being loaded again";
    case "idle":
      return "Topics are not loaded yet";
    case "closed":
      return "This instance is stopping";
    case undefined:
      return "No topics are in memory";
  }
}

/** The number of topics is only known when they were loaded before. */
function Progress({ index: { state, topics, topicsRead } }: { readonly index: Index }) {
  if (state !== "loading" && state !== "reloading") return null;
  const read = topicsRead ?? 0;
  return (
    <>
      <p>
        {formatCount(read)}
        {state === "reloading" && ` of about ${formatCount(topics)}`} topics read. Events wait until all are
        loaded.
      </p>
      <progress
        aria-label="Topics read"
        {...(state === "reloading" && { max: Math.max(topics, read, 1), value: read })}
      />
    </>
  );
}
