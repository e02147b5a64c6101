import { Link } from "wouter-preact";

import type { DeadLetterChannel, ReplayView } from "../../../../schemas/dead-letters.ts";
import { pageOfLetter } from "./addresses.ts";

const words = {
  taken: "taken",
  waiting: "waiting for the sync",
  "refused again": "refused again",
  "perhaps replayed": "perhaps sent: nobody knows whether it arrived",
} as const;

interface OutcomeProps {
  readonly replay: Pick<ReplayView, "outcome"> | null;
  readonly channel: DeadLetterChannel;
}

/** What came of a replay, in words; of one that was refused again, with the way to its new letter. */
export function Outcome({ replay, channel }: OutcomeProps) {
  if (replay === null) return <>–</>;
  const { kind, code, letter } = replay.outcome;
  if (letter === undefined) return <>{words[kind]}</>;
  return (
    <>
      {words[kind]}: <Link href={pageOfLetter(letter, channel)}>{code ?? "look"}</Link>
    </>
  );
}
