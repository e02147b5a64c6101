import { Link } from "wouter-preact";

import type { DeadLetterChannel, DeadLetterItem } from "../../../../schemas/dead-letters/dead-letter.ts";
import { Table } from "../../components/table.tsx";
import { TimeAgo } from "../../components/time-ago.tsx";
import { toDeadLetterHref } from "./paths.ts";
import { escapeInvisible } from "./bytes.ts";
import { Outcome } from "./replay-result.tsx";

interface DeadLetterTableProps {
  readonly deadLetters: readonly DeadLetterItem[];
  /** Whether there is a next page. */
  readonly hasMore: boolean;
  readonly channel: DeadLetterChannel;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (ids: ReadonlySet<string>) => void;
}

/** A page of dead letters that can be selected. */
export function DeadLetterTable({ deadLetters, hasMore, channel, selected, onSelect }: DeadLetterTableProps) {
  if (deadLetters.length === 0)
    return (
      <p>
        {hasMore ? "No matches on this page; the next page continues the search." : "No dead letters match."}
      </p>
    );
  const isAll = deadLetters.every(({ id }) => selected.has(id));
  return (
    <>
      <label>
        <input
          type="checkbox"
          checked={isAll}
          indeterminate={selected.size > 0 && !isAll}
          onChange={() => {
            onSelect(new Set(isAll ? [] : deadLetters.map(({ id }) => id)));
          }}
        />
        All on this page
      </label>
      <Table label="Dead letters" columns={["", "Reason", "Topic", "Time", "Replay"]}>
        {deadLetters.map(({ id, time, externalId, code, message, replay }) => (
          <tr key={id}>
            <td>
              <input
                type="checkbox"
                aria-label={`Select ${id}`}
                checked={selected.has(id)}
                onChange={({ currentTarget: { checked } }) => {
                  const others = [...selected].filter((one) => one !== id);
                  onSelect(new Set(checked ? [...others, id] : others));
                }}
              />
            </td>
            <td class="text">
              <Link href={toDeadLetterHref(id, channel)} aria-label={`${code}: show ${id}`}>
                {code}
              </Link>{" "}
              {escapeInvisible(message)}
            </td>
            <td class="text">{externalId === null ? "–" : escapeInvisible(externalId)}</td>
            <td>{time === null ? "–" : <TimeAgo time={time} />}</td>
            <td>
              <Outcome replay={replay} channel={channel} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
