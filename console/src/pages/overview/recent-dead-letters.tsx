import { Link } from "wouter-preact";

import type { DeadLetterChannel, DeadLetterItem } from "../../../../schemas/dead-letters/dead-letter.ts";
import type { Overview } from "../../../../schemas/overview.ts";
import type { SyncStatus } from "../../../../schemas/sync-status.ts";
import { formatCount } from "../../components/format.ts";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useRight } from "../../session.ts";
import { toDeadLetterHref } from "../dead-letters/paths.ts";

interface RecentDeadLettersProps extends Pick<SyncStatus, "counts" | "since"> {
  readonly deadLetters: Overview["deadLetters"];
}

/** The latest dead letters, and the number of rejections by code since the start. */
export function RecentDeadLetters({ deadLetters, counts, since }: RecentDeadLettersProps) {
  const rejected = Object.entries(counts?.rejected ?? {});
  const canView = useRight("dead-letters.read");
  return (
    <article aria-labelledby="recent-dead-letters">
      <h2 id="recent-dead-letters">Recent dead letters</h2>
      {!canView && (
        <p>
          Viewing dead letters requires the right <code>dead-letters.read</code>.
        </p>
      )}
      {canView && deadLetters === null && <p>Not loaded yet.</p>}
      {deadLetters?.length === 0 && <p>None. Rejected records are kept here with the reason.</p>}
      {deadLetters !== null && deadLetters.length > 0 && <DeadLetterTable deadLetters={deadLetters} />}
      {rejected.length > 0 && since !== null && (
        <p>
          <small>
            Since this instance started (<TimeAgo time={since} />
            ): {rejected.map(([code, count]) => `${formatCount(count)} × ${code}`).join(", ")}.
          </small>
        </p>
      )}
    </article>
  );
}

interface DeadLetterTableProps {
  readonly deadLetters: readonly DeadLetterItem[];
  readonly channel?: DeadLetterChannel;
}

/** Dead letters, each with a link to its page. */
export function DeadLetterTable({ deadLetters, channel }: DeadLetterTableProps) {
  // An event is not about one topic.
  const hasTopics = channel !== "events";
  return (
    <Table label="Recent dead letters" columns={["Time", ...(hasTopics ? ["Topic"] : []), "Reason"]}>
      {deadLetters.map(({ id, time, externalId, code, message }) => (
        <tr key={id}>
          <td>{time === null ? "–" : <TimeAgo time={time} />}</td>
          {hasTopics && <td>{externalId ?? "–"}</td>}
          <td>
            <Link href={toDeadLetterHref(id, channel)} aria-label={`${code}: view ${id}`}>
              {code}
            </Link>{" "}
            {message}
          </td>
        </tr>
      ))}
    </Table>
  );
}
