import { useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";

import {
  maxCounted,
  type DeadLetterChannel,
  type DeadLetterList,
} from "../../../../schemas/dead-letters/dead-letter.ts";
import { useQuery } from "../../query.ts";
import { Page } from "../../components/page.tsx";
import { ErrorMessage } from "../../components/error-message.tsx";
import { formatCount } from "../../components/format.ts";
import { Pager, usePaging } from "../../components/pager.tsx";
import { deadLettersPath, toListHref, formatQuery, useListFilter, type ListFilter } from "./paths.ts";
import { DeadLetterTable } from "./table.tsx";
import { Replay } from "./replay.tsx";

/** Lists dead letters by code, and replays selected ones. */
export function DeadLetterListPage() {
  const filter = useListFilter();
  const { channel, code, replayed } = filter;
  const paging = usePaging(toListHref(filter));
  const path = `${deadLettersPath}${formatQuery({ channel, code, replayed, after: paging.after })}`;
  const { value, error, loading, refetch } = useQuery<DeadLetterList>(path);
  const [selection, setSelection] = useState<{ path: string; ids: ReadonlySet<string> }>(none);
  const ids = selection.path === path ? selection.ids : none.ids;

  return (
    <Page name="Dead letters">
      <p>Rejected Kafka records, with the reason. Fix the cause, then replay them.</p>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {value === undefined && loading && <p aria-busy="true">Loading dead letters …</p>}
      {value !== undefined && (
        <>
          <Filter filter={filter} channels={value.channels} />
          {value.total === 0 ? (
            <NoDeadLetters channel={channel} />
          ) : (
            <>
              <Reasons counts={value.counts} total={value.total} filter={filter} />
              {/* While loading, the table still shows the previous query. */}
              <fieldset disabled={loading}>
                <DeadLetterTable
                  deadLetters={value.deadLetters}
                  hasMore={value.next !== null}
                  channel={channel}
                  selected={ids}
                  onSelect={(chosen) => {
                    setSelection({ path, ids: chosen });
                  }}
                />
                <Replay
                  key={path}
                  ids={[...ids]}
                  channel={channel}
                  onSent={() => {
                    setSelection(none);
                    refetch();
                  }}
                  onSettled={refetch}
                />
              </fieldset>
              <Pager paging={paging} next={value.next} />
              {value.unlisted > 0 && (
                <p>
                  <small>{formatCount(value.unlisted)} more are still being read.</small>
                </p>
              )}
            </>
          )}
        </>
      )}
    </Page>
  );
}

const none = { path: "", ids: new Set<string>() } as const;

const NoDeadLetters = ({ channel }: { readonly channel: DeadLetterChannel }) => (
  <article class="well">
    <h2>No dead letters</h2>
    <p>{allDone[channel]}</p>
  </article>
);

const allDone: Readonly<Record<DeadLetterChannel, string>> = {
  announcements: "Every announcement could be applied.",
  "push-feedback": "Every report of a dead push token could be applied.",
  events: "Every event could be forwarded.",
};

const channelNames: Readonly<Record<DeadLetterChannel, string>> = {
  announcements: "Announcements",
  "push-feedback": "Push feedback",
  events: "Events",
};

interface FilterProps {
  readonly filter: ListFilter;
  readonly channels: DeadLetterList["channels"];
}

/** The channel and whether dead letters were replayed. */
function Filter({ filter, channels }: FilterProps) {
  const [, navigate] = useLocation();
  const { channel, replayed } = filter;
  return (
    <form class="choice">
      {channels.length > 1 && (
        <label>
          Channel
          <select
            value={channel}
            onChange={({ currentTarget: { selectedIndex } }) => {
              const chosen = channels[selectedIndex] ?? channel;
              navigate(toListHref({ channel: chosen, code: undefined, replayed }));
            }}
          >
            {channels.map((one) => (
              <option key={one} value={one}>
                {channelNames[one]}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        Replayed
        <select
          value={replayed ?? ""}
          onChange={({ currentTarget: { value } }) => {
            const chosen = value === "true" || value === "false" ? value : undefined;
            navigate(toListHref({ ...filter, replayed: chosen }));
          }}
        >
          <option value="">All</option>
          <option value="false">Not replayed</option>
          <option value="true">Replayed</option>
        </select>
      </label>
    </form>
  );
}

interface ReasonsProps extends Pick<DeadLetterList, "counts" | "total"> {
  readonly filter: ListFilter;
}

/** The codes with their counts, as links that filter by code. */
function Reasons({ counts, total, filter }: ReasonsProps) {
  const codes = Object.entries(counts).toSorted(([, one], [, other]) => other - one);
  return (
    <nav class="reasons" aria-label="Reasons">
      <ul>
        <Reason name="All" count={format(total, codes[0]?.[1])} code={undefined} filter={filter} />
        {codes.map(([code, count]) => (
          <Reason key={code} name={code} count={format(count)} code={code} filter={filter} />
        ))}
      </ul>
    </nav>
  );
}

/** With a plus if the largest number of a code stands for more. */
const format = (count: number, largest = count): string =>
  largest < maxCounted ? formatCount(count) : `${formatCount(count)}+`;

interface ReasonProps {
  readonly name: string;
  readonly count: string;
  readonly code: string | undefined;
  readonly filter: ListFilter;
}

const Reason = ({ name, count, code, filter }: ReasonProps) => (
  <li>
    <Link
      href={toListHref({ ...filter, code })}
      class={filter.code === code ? "here" : ""}
      aria-current={filter.code === code ? "true" : undefined}
    >
      {name} <span class="count">{count}</span>
    </Link>
  </li>
);
