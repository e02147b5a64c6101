import { useEffect, useState } from "preact/hooks";

import type { DeadLetterChannel, ReplayBody, ReplayResult } from "../../../../schemas/dead-letters.ts";
import { ask } from "../../api.ts";
import { useAction } from "../../query.ts";
import { Confirm } from "../../components/confirm-dialog.tsx";
import { counted } from "../../components/format.ts";
import { replayPath } from "./addresses.ts";
import { Skipped } from "./skipped.tsx";

interface ReplayQuestionProps {
  readonly ids: readonly string[];
  readonly channel: DeadLetterChannel;
  readonly cancelled: () => void;
  readonly done: (result: ReplayResult) => void;
}

/** Asks before letters are replayed: says how many are sent, and which are not and why. */
export function ReplayQuestion({ ids, channel, cancelled, done }: ReplayQuestionProps) {
  const [wish, setWish] = useState({ again: false, force: false });
  const [planned, setPlanned] = useState<{ readonly plan: ReplayResult; readonly wish: object }>();
  const doing = useAction();
  const body: ReplayBody = { ids: [...ids], channel, ...wish };
  const replay = (more: Partial<ReplayBody>) => ask<ReplayResult>(replayPath, { ...body, ...more });

  useEffect(() => {
    doing.start(
      () => replay({ dryRun: true }),
      (plan) => {
        setPlanned({ plan, wish });
      },
    );
  }, [wish]);

  const plan = planned?.plan;
  const count = plan?.sent.length ?? 0;
  const kinds = new Set(plan?.skipped.map(({ reason }) => reason));
  return (
    <Confirm
      question={questionOf(plan)}
      action="Replay"
      doing={doing}
      possible={count > 0 && planned?.wish === wish}
      confirmed={() => {
        doing.start(() => replay({}), done);
      }}
      cancelled={cancelled}
    >
      {count > 0 && plan !== undefined && (
        <p>
          {count === 1 ? "It is" : "They are"} sent to <code>{plan.topic}</code> as{" "}
          {count === 1 ? "it" : "they"} came. Where the reason still holds,{" "}
          {count === 1 ? "it is" : "they are"} refused again.
        </p>
      )}
      {plan !== undefined && <Skipped skipped={plan.skipped} />}
      {(kinds.has("replayed") || wish.again) && (
        <Also
          text="Also what was replayed before"
          checked={wish.again}
          changed={(again) => {
            setWish({ ...wish, again });
          }}
        />
      )}
      {(kinds.has("superseded") || wish.force) && (
        <Also
          text="Also what is superseded: it overwrites what was said later"
          checked={wish.force}
          changed={(force) => {
            setWish({ ...wish, force });
          }}
        />
      )}
    </Confirm>
  );
}

function questionOf(plan: ReplayResult | undefined): string {
  if (plan === undefined) return "Looking what can be sent …";
  const count = plan.sent.length;
  if (count === 0) return "Nothing can be sent";
  return count === 1 ? "Replay 1 dead letter?" : `Replay ${counted(count)} dead letters?`;
}

interface AlsoProps {
  readonly text: string;
  readonly checked: boolean;
  readonly changed: (checked: boolean) => void;
}

const Also = ({ text, checked, changed }: AlsoProps) => (
  <label>
    <input
      type="checkbox"
      checked={checked}
      onChange={(event) => {
        changed(event.currentTarget.checked);
      }}
    />
    {text}
  </label>
);
