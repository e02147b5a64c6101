import { Link } from "wouter-preact";

import type { DeadLetterChannel, ReplayView } from "../../../../schemas/dead-letters.ts";
import { pageOfLetter } from "./addresses.ts";

const words = {
  applied: "applied",
  pending: "waiting for the sync",
  rejected: "rejected again",
  unknown: "unknown: sending was not confirmed",
} as const;

interface OutcomeProps {
  readonly replay: Pick<ReplayView, "outcome"> | null;
  readonly channel: DeadLetterChannel;
}

/** What came of a replay, in words; of one that was refused again, with the way to its new letter. */
export function Outcome({ replay, channel }: OutcomeProps) {
  if (replay === null) return <>–</>;
  const { status, code, deadLetterId } = replay.outcome;
  if (deadLetterId === undefined) return <>{words[status]}</>;
  return (
    <>
      {words[status]}: <Link href={pageOfLetter(deadLetterId, channel)}>{code ?? "show"}</Link>
    </>
  );
}
