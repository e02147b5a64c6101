import { Figure, Figures } from "../../components/figure.tsx";
import { formatCount } from "../../components/format.ts";
import { RightLink } from "../../components/right-link.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { toListHref } from "../dead-letters/paths.ts";
import type { RouterStatus } from "./router.ts";

interface EventCountsProps extends Pick<RouterStatus, "counts"> {
  /** When the instance started to count. */
  readonly since: string | null;
}

/** The number of events by outcome, and of dead letters by code. */
export function EventCounts({ counts, since }: EventCountsProps) {
  if (counts === null) return null;
  const rejected = Object.entries(counts.rejected).toSorted(([, one], [, other]) => other - one);
  const total = rejected.reduce((sum, [, count]) => sum + count, 0);
  return (
    <article aria-labelledby="outcomes">
      <h2 id="outcomes">Outcomes</h2>
      <Figures>
        <Figure name="Matched" value={formatCount(counts.matched)} />
        <Figure name="Unmatched" value={formatCount(counts.unmatched)} />
        <Figure name="Forwarded copies" value={formatCount(counts.forwarded)} />
        <Figure name="Dead letters" value={formatCount(total)} />
      </Figures>
      {rejected.length > 0 && (
        <ul>
          {rejected.map(([code, count]) => (
            <li key={code}>
              <RightLink
                right="dead-letters.read"
                href={toListHref({ channel: "events", code, replayed: undefined })}
              >
                {code}
              </RightLink>
              : {formatCount(count)}
            </li>
          ))}
        </ul>
      )}
      <p>
        <small>
          {since === null ? (
            "Since this instance started."
          ) : (
            <>
              Since this instance started (<TimeAgo time={since} />
              ).
            </>
          )}{" "}
          An event has one copy per matching topic.
        </small>
      </p>
    </article>
  );
}
