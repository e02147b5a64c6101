import { useState } from "preact/hooks";

import type { SessionList } from "../../../../schemas/session.ts";
import { api, ApiError } from "../../api.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Table } from "../../components/table.tsx";
import { formatTime, TimeAgo } from "../../components/time-ago.tsx";
import { useAction, useQuery } from "../../query.ts";

type Session = SessionList["sessions"][number];

const listPath = "/api/topicsync/v1/sessions";

/** It may have ended in the meantime. */
const endSession = (id: string): Promise<void> =>
  api.delete(`${listPath}/${id}`).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  });

/** The user's open sessions, which can be ended except for the current one. */
export function OwnSessions() {
  const { value, error, refetch } = useQuery<SessionList>(listPath);
  const action = useAction();
  const [notice, setNotice] = useState("");
  const sessions = value?.sessions ?? [];
  const others = sessions.filter(({ current }) => !current);

  function end(work: () => Promise<void>, done: string): void {
    action.run(work, () => {
      setNotice(done);
      refetch();
    });
  }

  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <p role="status">{notice}</p>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {action.error !== undefined && <ErrorMessage error={action.error} retry={refetch} />}
      {value !== undefined && (
        <Table label="Your open sessions" columns={["Started", "Expires if unused", "Actions"]}>
          {sessions.map((session) => (
            <SessionRow
              key={session.id}
              {...session}
              busy={action.busy}
              onEnd={() => {
                end(() => endSession(session.id), "The session was ended.");
              }}
            />
          ))}
        </Table>
      )}
      {others.length > 1 && (
        <button
          type="button"
          class="secondary"
          disabled={action.busy}
          onClick={() => {
            end(() => api.delete(listPath), "All other sessions were ended.");
          }}
        >
          End all other sessions
        </button>
      )}
    </section>
  );
}

interface SessionRowProps extends Session {
  readonly busy: boolean;
  readonly onEnd: () => void;
}

const SessionRow = ({ startedOn, expiresOn, current, busy, onEnd }: SessionRowProps) => (
  <tr>
    <th scope="row">
      <TimeAgo time={startedOn} />
      {current && <small> (this one)</small>}
    </th>
    <td>
      <TimeAgo time={expiresOn} />
    </td>
    <td class="actions">
      {!current && (
        <button
          type="button"
          class="small outline"
          aria-label={`End the session started on ${formatTime(startedOn)}`}
          disabled={busy}
          onClick={onEnd}
        >
          End
        </button>
      )}
    </td>
  </tr>
);
