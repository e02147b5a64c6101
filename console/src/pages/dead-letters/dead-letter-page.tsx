import { Link } from "wouter-preact";

import type { DeadLetterChannel, DeadLetterView } from "../../../../schemas/dead-letters/dead-letter.ts";
import { useQuery } from "../../query.ts";
import { Page } from "../../components/page.tsx";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { deadLettersPath, toListHref, toDeadLetterHref, formatQuery, useListFilter } from "./paths.ts";
import { formatBytes, escapeInvisible } from "./bytes.ts";
import { Replay } from "./replay.tsx";
import { Outcome } from "./replay-result.tsx";
import { DeadLetterValue } from "./value.tsx";

/** Everything about a dead letter. */
export function DeadLetterPage({ id }: { readonly id: string }) {
  const { channel } = useListFilter();
  const path = `${deadLettersPath}/${encodeURIComponent(id)}${formatQuery({ channel })}`;
  const { value, error, refetch } = useQuery<DeadLetterView>(path);
  // After following a link, the previous dead letter is still loaded.
  const letter = value?.id === id ? value : undefined;
  return (
    <Page name="Dead letter">
      <p>
        <Link href={toListHref({ channel, code: undefined, replayed: undefined })}>All dead letters</Link>
      </p>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {letter === undefined && error === undefined && <p aria-busy="true">Loading …</p>}
      {letter !== undefined && (
        <>
          <Reason letter={letter} />
          <Replay key={id} ids={[id]} channel={channel} onSent={refetch} onSettled={refetch} />
          <DeadLetterValue key={id} letter={letter} />
          <Source letter={letter} channel={channel} />
          {!letter.contentHidden && <Headers headers={letter.headers} />}
          <Replays letter={letter} channel={channel} />
        </>
      )}
    </Page>
  );
}

function Reason({ letter: { code, message, details } }: { readonly letter: DeadLetterView }) {
  // The message usually contains the details.
  const more = details.filter((fault) => !message.includes(fault.message));
  return (
    <article class="failure" aria-labelledby="reason">
      <h2 id="reason">{code}</h2>
      <p class="text">{escapeInvisible(message)}</p>
      {more.length > 0 && (
        <ul>
          {more.map(({ path, message: fault }) => (
            <li key={`${path} ${fault}`} class="text">
              {path === "" ? "The value" : <code>{escapeInvisible(path)}</code>} {escapeInvisible(fault)}
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

function Source({
  letter,
  channel,
}: {
  readonly letter: DeadLetterView;
  readonly channel: DeadLetterChannel;
}) {
  const { id, time, source, position, copies, key, externalId, replayOf, contentHidden } = letter;
  return (
    <article aria-labelledby="origin">
      <h2 id="origin">Source</h2>
      <dl class="facts">
        <dt>Time</dt>
        <dd>{time === null ? "Unknown" : <TimeAgo time={time} />}</dd>
        <dt>Source</dt>
        <dd>
          {source === null
            ? "Unknown: topicsync did not write this dead letter."
            : `${source.topic}, partition ${source.partition}, offset ${source.offset}${source.epoch === undefined ? "" : `, epoch ${source.epoch}`}`}
        </dd>
        <dt>Position</dt>
        <dd>
          {position.topic}, partition {position.partition}, offset {position.offset}
          {copies > 1 && `, the last of ${copies} copies`}
        </dd>
        <dt>Id</dt>
        <dd>
          <code>{id}</code>
        </dd>
        <dt>Topic</dt>
        <dd>{externalId === null ? "Unknown" : escapeInvisible(externalId)}</dd>
        <dt>Key</dt>
        <dd>{key === null ? contentHidden ? "Hidden" : "None" : <code>{formatBytes(key)}</code>}</dd>
        {replayOf !== null && (
          <>
            <dt>Replay of</dt>
            <dd>
              <Link href={toDeadLetterHref(replayOf, channel)}>{escapeInvisible(replayOf)}</Link>
            </dd>
          </>
        )}
      </dl>
    </article>
  );
}

const Headers = ({ headers }: Pick<DeadLetterView, "headers">) => (
  <article aria-labelledby="headers">
    <h2 id="headers">Headers</h2>
    {headers.length === 0 ? (
      <p>None</p>
    ) : (
      <Table label="Headers" columns={["Name", "Value"]}>
        {headers.map(({ name, value }, i) => (
          <tr key={i}>
            <th scope="row">{escapeInvisible(name)}</th>
            <td class="text">{value === null ? "None" : <code>{formatBytes(value)}</code>}</td>
          </tr>
        ))}
      </Table>
    )}
  </article>
);

const Replays = ({
  letter: { replays },
  channel,
}: {
  readonly letter: DeadLetterView;
  readonly channel: DeadLetterChannel;
}) => (
  <article aria-labelledby="replays">
    <h2 id="replays">Replays</h2>
    {replays.length === 0 ? (
      <p>Not replayed yet.</p>
    ) : (
      <Table label="Replays" columns={["When", "Sent to", "Outcome"]}>
        {replays.map((one) => {
          const { topic, partition, offset, epoch } = one.sentTo;
          return (
            <tr key={one.replayedAt}>
              <td>
                <TimeAgo time={one.replayedAt} />
              </td>
              <td>
                {topic}
                {offset !== undefined && `, partition ${partition ?? 0}, offset ${offset}`}
                {epoch !== undefined && `, epoch ${epoch}`}
              </td>
              <td>
                <Outcome replay={one} channel={channel} />
              </td>
            </tr>
          );
        })}
      </Table>
    )}
  </article>
);
