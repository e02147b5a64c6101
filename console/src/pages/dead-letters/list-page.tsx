import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";

import type { DeadLetterChannel, DeadLetterList } from "../../../../schemas/dead-letters.ts";
import { useQuery } from "../../query.ts";
import { Page } from "../../components/page.tsx";
import { Failure } from "../../components/error-message.tsx";
import { counted } from "../../components/format.ts";
import { Pager, usePageState } from "../../components/pager.tsx";
import { lettersPath, pageOfChoice, toQuery, useChoice, type LetterChoice } from "./addresses.ts";
import { Letters } from "./letters.tsx";
import { Reasons } from "./reasons.tsx";
import { Replaying } from "./replaying.tsx";

/** All letters, by reason; some of them are chosen and replayed. */
export function LetterListPage() {
  const choice = useChoice();
  const { channel, code, replayed } = choice;
  const place = usePageState(pageOfChoice(choice));
  const path = `${lettersPath}${toQuery({ channel, code, replayed, after: place.after })}`;
  const { value, error, asking, again } = useQuery<DeadLetterList>(path);
  const [selection, setSelection] = useState<{ path: string; ids: ReadonlySet<string> }>(none);
  const ids = selection.path === path ? selection.ids : none.ids;

  return (
    <Page name="Dead letters">
      <p>What was refused is kept here, with the reason. Once the reason is gone, replay it.</p>
      {error !== undefined && <Failure error={error} again={again} />}
      {value === undefined && asking && <p aria-busy="true">Reading the dead letters …</p>}
      {value !== undefined && (
        <>
          <Choice choice={choice} channels={value.channels} />
          {value.total === 0 ? (
            <Nothing channel={channel} />
          ) : (
            <>
              <Reasons counts={value.counts} total={value.total} choice={choice} />
              {/* Until the answer is there, what is shown may be what was asked for before. */}
              <fieldset disabled={asking}>
                <Letters
                  letters={value.deadLetters}
                  goesOn={value.next !== null}
                  channel={channel}
                  selected={ids}
                  select={(chosen) => {
                    setSelection({ path, ids: chosen });
                  }}
                />
                <Replaying
                  key={path}
                  ids={[...ids]}
                  channel={channel}
                  replayed={() => {
                    setSelection(none);
                    again();
                  }}
                  known={again}
                />
              </fieldset>
              <Pager place={place} next={value.next} />
              {value.unlisted > 0 && (
                <p>
                  <small>
                    {counted(value.unlisted)} older ones are not shown; <code>topicsync dead-letters</code>{" "}
                    has them.
                  </small>
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

const Nothing = ({ channel }: { readonly channel: DeadLetterChannel }) => (
  <article class="well">
    <h2>Nothing was refused</h2>
    <p>
      {channel === "announcements"
        ? "Every announcement that came could be applied."
        : "Every report of a dead push token could be applied."}{" "}
      What cannot be is kept here, as it came.
    </p>
  </article>
);

const channelNames: Readonly<Record<DeadLetterChannel, string>> = {
  announcements: "Announcements",
  "push-feedback": "Push feedback",
};

interface ChoiceProps {
  readonly choice: LetterChoice;
  readonly channels: DeadLetterList["channels"];
}

/** What the list is narrowed by, beside the reasons. */
function Choice({ choice, channels }: ChoiceProps) {
  const [, navigate] = useLocation();
  const { channel, replayed } = choice;
  return (
    <form class="choice">
      {channels.length > 1 && (
        <label>
          Refused from
          <select
            value={channel}
            onChange={({ currentTarget: { selectedIndex } }) => {
              const chosen = channels[selectedIndex] ?? channel;
              navigate(pageOfChoice({ channel: chosen, code: undefined, replayed }));
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
            navigate(pageOfChoice({ ...choice, replayed: chosen }));
          }}
        >
          <option value="">Whether or not</option>
          <option value="false">Not yet</option>
          <option value="true">Already</option>
        </select>
      </label>
    </form>
  );
}
