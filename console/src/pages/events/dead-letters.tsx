import { useEffect } from "preact/hooks";
import { Link } from "wouter-preact";

import type { DeadLetterList } from "../../../../schemas/dead-letters/dead-letter.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { useQuery } from "../../query.ts";
import { useRight } from "../../session.ts";
import { deadLettersPath, formatQuery, toListHref } from "../dead-letters/paths.ts";
import { DeadLetterTable } from "../overview/recent-dead-letters.tsx";

const channel = "events";
const path = `${deadLettersPath}${formatQuery({ channel, limit: "10" })}`;
const refreshIntervalMs = 5_000;

/** The last events that could not be forwarded, from all instances. */
export function EventDeadLetters() {
  const canView = useRight("dead-letters.read");
  return (
    <article aria-labelledby="recent-dead-letters">
      <h2 id="recent-dead-letters">Recent dead letters</h2>
      {canView ? (
        <LatestDeadLetters />
      ) : (
        <p>
          Viewing dead letters requires the right <code>dead-letters.read</code>.
        </p>
      )}
    </article>
  );
}

function LatestDeadLetters() {
  const { value, error, loading, refetch } = useQuery<DeadLetterList>(path);

  // Not after an error, which would be announced again and again.
  useEffect(() => {
    if (loading || error !== undefined) return undefined;
    const timer = setTimeout(refetch, refreshIntervalMs);
    return () => {
      clearTimeout(timer);
    };
  }, [loading, error]);

  if (error !== undefined) return <ErrorMessage error={error} retry={refetch} />;
  if (value === undefined) return <p aria-busy="true">Loading …</p>;
  if (value.deadLetters.length === 0)
    return <p>None. Events that cannot be forwarded are kept here with the reason.</p>;
  return (
    <>
      <DeadLetterTable deadLetters={value.deadLetters} channel={channel} />
      <p>
        <Link href={toListHref({ channel, code: undefined, replayed: undefined })}>
          All dead letters of events
        </Link>
      </p>
    </>
  );
}
