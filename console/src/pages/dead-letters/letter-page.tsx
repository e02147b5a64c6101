import { Link } from "wouter-preact";

import type { DeadLetterChannel, DeadLetterView } from "../../../../schemas/dead-letters.ts";
import { useQuery } from "../../query.ts";
import { Page } from "../../components/page.tsx";
import { Failure } from "../../components/error-message.tsx";
import { Table } from "../../components/table.tsx";
import { When } from "../../components/time-ago.tsx";
import { lettersPath, pageOfChoice, pageOfLetter, toQuery, useChoice } from "./addresses.ts";
import { readable, visible } from "./bytes.ts";
import { LetterContent } from "./content.tsx";
import { Outcome } from "./outcome.tsx";
import { Replaying } from "./replaying.tsx";

/** Everything about a letter. */
export function LetterPage({ id }: { readonly id: string }) {
  const choice = useChoice();
  const { channel } = choice;
  const path = `${lettersPath}/${encodeURIComponent(id)}${toQuery({ channel })}`;
  const { value, error, again } = useQuery<DeadLetterView>(path);
  // On the way from one letter to another the first is still there.
  const letter = value?.id === id ? value : undefined;
  return (
    <Page name="Dead letter">
      <p>
        <Link href={pageOfChoice({ channel, code: undefined, replayed: undefined })}>All dead letters</Link>
      </p>
      {error !== undefined && <Failure error={error} again={again} />}
      {letter === undefined && error === undefined && <p aria-busy="true">Reading the letter …</p>}
      {letter !== undefined && (
        <>
          <Reason letter={letter} />
          <Replaying key={id} ids={[id]} channel={channel} replayed={again} known={again} />
          <LetterContent key={id} letter={letter} />
          <Origin letter={letter} channel={channel} />
          <Headers headers={letter.headers} />
          <Replays letter={letter} channel={channel} />
        </>
      )}
    </Page>
  );
}

function Reason({ letter: { code, message, details } }: { readonly letter: DeadLetterView }) {
  // The message mostly says it all already.
  const more = details.filter((fault) => !message.includes(fault.message));
  return (
    <article class="failure" aria-labelledby="reason">
      <h2 id="reason">{code}</h2>
      <p class="text">{visible(message)}</p>
      {more.length > 0 && (
        <ul>
          {more.map(({ path, message: fault }) => (
            <li key={`${path} ${fault}`} class="text">
              {path === "" ? "The whole" : <code>{visible(path)}</code>} {visible(fault)}
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

function Origin({
  letter,
  channel,
}: {
  readonly letter: DeadLetterView;
  readonly channel: DeadLetterChannel;
}) {
  const { id, time, source, position, copies, key, externalId, replayOf } = letter;
  return (
    <article aria-labelledby="origin">
      <h2 id="origin">Where it came from</h2>
      <dl class="facts">
        <dt>Announced</dt>
        <dd>{time === null ? "It is not known when." : <When time={time} />}</dd>
        <dt>From</dt>
        <dd>
          {source === null
            ? "Unknown: somebody else wrote it into the dead-letter topic."
            : `${source.topic}, partition ${source.partition}, offset ${source.offset}${source.epoch === undefined ? "" : `, epoch ${source.epoch}`}`}
        </dd>
        <dt>Lies at</dt>
        <dd>
          {position.topic}, partition {position.partition}, offset {position.offset}
          {copies > 1 && `, the last of ${copies} copies`}
        </dd>
        <dt>Id</dt>
        <dd>
          <code>{id}</code>
        </dd>
        <dt>Topic</dt>
        <dd>{externalId === null ? "It does not say which." : visible(externalId)}</dd>
        <dt>Key</dt>
        <dd>{key === null ? "None" : <code>{readable(key)}</code>}</dd>
        {replayOf !== null && (
          <>
            <dt>Replay of</dt>
            <dd>
              <Link href={pageOfLetter(replayOf, channel)}>{visible(replayOf)}</Link>
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
      <p>None.</p>
    ) : (
      <Table label="Headers" columns={["Name", "Value"]}>
        {headers.map(({ name, value }, i) => (
          <tr key={i}>
            <th scope="row">{visible(name)}</th>
            <td class="text">
              <code>{readable(value)}</code>
            </td>
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
      <p>It was never replayed.</p>
    ) : (
      <Table label="Replays" columns={["When", "Sent to", "What came of it"]}>
        {replays.map((one) => {
          const { topic, partition, offset, epoch } = one.sentTo;
          return (
            <tr key={one.replayedAt}>
              <td>
                <When time={one.replayedAt} />
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
