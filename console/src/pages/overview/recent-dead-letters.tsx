import { Link } from "wouter-preact";

import { roles } from "../../../../schemas/roles.ts";
import type { DeadLetterItem } from "../../../../schemas/dead-letters.ts";
import type { Overview } from "../../../../schemas/overview.ts";
import type { SyncStatus } from "../../../../schemas/sync-status.ts";
import { counted } from "../../components/format.ts";
import { Table } from "../../components/table.tsx";
import { When } from "../../components/time-ago.tsx";
import { useSession } from "../../session.ts";
import { toDeadLetterHref } from "../dead-letters/paths.ts";

interface RefusedProps extends Pick<SyncStatus, "counts" | "since"> {
  readonly deadLetters: Overview["deadLetters"];
}

/** What was refused lately, and why. */
export function Refused({ deadLetters, counts, since }: RefusedProps) {
  const refused = Object.entries(counts?.refused ?? {});
  const mayLook = useSession().session.roles.includes(roles.eventManagement);
  return (
    <article aria-labelledby="refused">
      <h2 id="refused">Refused lately</h2>
      {!mayLook && (
        <p>
          To see what was refused takes the role <code>{roles.eventManagement}</code>.
        </p>
      )}
      {mayLook && deadLetters === null && <p>The dead letters could not be read yet.</p>}
      {deadLetters?.length === 0 && (
        <p>Nothing was ever refused. What is refused is kept, with the reason.</p>
      )}
      {deadLetters !== null && deadLetters.length > 0 && <Newest deadLetters={deadLetters} />}
      {refused.length > 0 && since !== null && (
        <p>
          <small>
            Since this instance started (<When time={since} />
            ): {refused.map(([code, count]) => `${counted(count)} × ${code}`).join(", ")}.
          </small>
        </p>
      )}
    </article>
  );
}

function Newest({ deadLetters }: { readonly deadLetters: readonly DeadLetterItem[] }) {
  return (
    <Table label="Refused lately" columns={["When", "Topic", "Reason"]}>
      {deadLetters.map(({ id, time, externalId, code, message }) => (
        <tr key={id}>
          <td>{time === null ? "–" : <When time={time} />}</td>
          <td>{externalId ?? "–"}</td>
          <td>
            <Link href={toDeadLetterHref(id)} aria-label={`${code}: look at ${id}`}>
              {code}
            </Link>{" "}
            {message}
          </td>
        </tr>
      ))}
    </Table>
  );
}
