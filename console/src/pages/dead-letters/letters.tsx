import { Link } from "wouter-preact";

import type { DeadLetterChannel, DeadLetterItem } from "../../../../schemas/dead-letters.ts";
import { Table } from "../../components/table.tsx";
import { When } from "../../components/time-ago.tsx";
import { pageOfLetter } from "./addresses.ts";
import { visible } from "./bytes.ts";
import { Outcome } from "./outcome.tsx";

interface LettersProps {
  readonly letters: readonly DeadLetterItem[];
  /** Whether there is a page behind. */
  readonly goesOn: boolean;
  readonly channel: DeadLetterChannel;
  readonly selected: ReadonlySet<string>;
  readonly select: (ids: ReadonlySet<string>) => void;
}

/** A page of letters, each of which can be selected. */
export function Letters({ letters, goesOn, channel, selected, select }: LettersProps) {
  if (letters.length === 0)
    return <p>{goesOn ? "None among these; the next page looks further." : "None is like that."}</p>;
  const isAll = letters.every(({ id }) => selected.has(id));
  return (
    <>
      <label>
        <input
          type="checkbox"
          checked={isAll}
          indeterminate={selected.size > 0 && !isAll}
          onChange={() => {
            select(new Set(isAll ? [] : letters.map(({ id }) => id)));
          }}
        />
        All on this page
      </label>
      <Table label="Dead letters" columns={["", "Reason", "Topic", "Announced", "Replay"]}>
        {letters.map(({ id, time, externalId, code, message, replay }) => (
          <tr key={id}>
            <td>
              <input
                type="checkbox"
                aria-label={`Select ${id}`}
                checked={selected.has(id)}
                onChange={({ currentTarget: { checked } }) => {
                  const others = [...selected].filter((one) => one !== id);
                  select(new Set(checked ? [...others, id] : others));
                }}
              />
            </td>
            <td class="text">
              <Link href={pageOfLetter(id, channel)} aria-label={`${code}: look at ${id}`}>
                {code}
              </Link>{" "}
              {visible(message)}
            </td>
            <td class="text">{externalId === null ? "–" : visible(externalId)}</td>
            <td>{time === null ? "–" : <When time={time} />}</td>
            <td>
              <Outcome replay={replay} channel={channel} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
