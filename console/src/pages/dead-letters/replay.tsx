import { useEffect, useState } from "preact/hooks";

import type { DeadLetterChannel } from "../../../../schemas/dead-letters/dead-letter.ts";
import type { ReplayBody, ReplayResult } from "../../../../schemas/dead-letters/replay.ts";
import { api } from "../../api.ts";
import { useRight } from "../../session.ts";
import { useAction } from "../../query.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { formatCount } from "../../components/format.ts";
import { replaysPath } from "./paths.ts";
import { ReplayProgress, Skipped } from "./replay-result.tsx";

interface ReplayProps {
  readonly ids: readonly string[];
  readonly channel: DeadLetterChannel;
  readonly onSent: () => void;
  /** Called when the outcomes are known. */
  readonly onSettled: () => void;
}

/** Replays dead letters: asks for confirmation, sends, and shows the outcomes. */
export function Replay({ ids, channel, onSent, onSettled }: ReplayProps) {
  const canReplay = useRight("dead-letters.replay");
  const [isAsking, setIsAsking] = useState(false);
  const [result, setResult] = useState<ReplayResult>();
  if (!canReplay) return null;
  return (
    <>
      <button
        type="button"
        disabled={ids.length === 0}
        onClick={() => {
          setIsAsking(true);
        }}
      >
        {ids.length < 2 ? "Replay" : `Replay ${formatCount(ids.length)}`}
      </button>
      {isAsking && (
        <ReplayDialog
          ids={ids}
          channel={channel}
          onCancel={() => {
            setIsAsking(false);
          }}
          onDone={(sent) => {
            setIsAsking(false);
            setResult(sent);
            onSent();
          }}
        />
      )}
      {result !== undefined && (
        <ReplayProgress key={result.sent.join(" ")} result={result} channel={channel} onSettled={onSettled} />
      )}
    </>
  );
}

interface ReplayDialogProps {
  readonly ids: readonly string[];
  readonly channel: DeadLetterChannel;
  readonly onCancel: () => void;
  readonly onDone: (result: ReplayResult) => void;
}

/** Asks for confirmation, with what will be sent and what will be skipped. */
function ReplayDialog({ ids, channel, onCancel, onDone }: ReplayDialogProps) {
  const [choice, setChoice] = useState({ again: false, force: false });
  const [planned, setPlanned] = useState<{ readonly plan: ReplayResult; readonly choice: object }>();
  const action = useAction();
  const isAdmin = useRight("admin");
  const body: ReplayBody = { ids: [...ids], channel, ...choice };
  const replay = (more: Partial<ReplayBody>) => api.post<ReplayResult>(replaysPath, { ...body, ...more });

  useEffect(() => {
    action.run(
      () => replay({ dryRun: true }),
      (plan) => {
        setPlanned({ plan, choice });
      },
    );
  }, [choice]);

  const plan = planned?.plan;
  const count = plan?.sent.length ?? 0;
  const kinds = new Set(plan?.skipped.map(({ reason }) => reason));
  return (
    <ConfirmDialog
      title={formatQuestion(plan)}
      confirmLabel="Replay"
      action={action}
      canConfirm={count > 0 && planned?.choice === choice}
      onConfirm={() => {
        action.run(() => replay({}), onDone);
      }}
      onCancel={onCancel}
    >
      {count > 0 && plan !== undefined && (
        <p>
          {count === 1 ? "It is" : "They are"} sent unchanged to <code>{plan.topic}</code>, and rejected again
          unless the cause is fixed.
        </p>
      )}
      {plan !== undefined && <Skipped skipped={plan.skipped} />}
      {(kinds.has("replayed") || choice.again) && (
        <Option
          text="Also replay what was replayed before"
          checked={choice.again}
          onChange={(again) => {
            setChoice({ ...choice, again });
          }}
        />
      )}
      {isAdmin && (kinds.has("superseded") || choice.force) && (
        <Option
          text="Also replay what is superseded, overwriting later announcements"
          checked={choice.force}
          onChange={(force) => {
            setChoice({ ...choice, force });
          }}
        />
      )}
    </ConfirmDialog>
  );
}

function formatQuestion(plan: ReplayResult | undefined): string {
  if (plan === undefined) return "Checking what can be sent …";
  const count = plan.sent.length;
  if (count === 0) return "Nothing can be sent";
  return count === 1 ? "Replay 1 dead letter?" : `Replay ${formatCount(count)} dead letters?`;
}

interface OptionProps {
  readonly text: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

const Option = ({ text, checked, onChange }: OptionProps) => (
  <label>
    <input
      type="checkbox"
      checked={checked}
      onChange={(event) => {
        onChange(event.currentTarget.checked);
      }}
    />
    {text}
  </label>
);
