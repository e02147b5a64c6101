import { useState } from "preact/hooks";

import type { DeadLetterChannel, ReplayResult } from "../../../../schemas/dead-letters.ts";
import { counted } from "../../components/format.ts";
import { Followed } from "./followed.tsx";
import { ReplayQuestion } from "./replay-question.tsx";

interface ReplayingProps {
  readonly ids: readonly string[];
  readonly channel: DeadLetterChannel;
  /** Something was sent. */
  readonly replayed: () => void;
  /** It is known what came of it. */
  readonly known: () => void;
}

/** Replays letters: asks, sends, and follows what comes of it. */
export function Replaying({ ids, channel, replayed, known }: ReplayingProps) {
  const [isAsking, setIsAsking] = useState(false);
  const [result, setResult] = useState<ReplayResult>();
  return (
    <>
      <button
        type="button"
        disabled={ids.length === 0}
        onClick={() => {
          setIsAsking(true);
        }}
      >
        {ids.length < 2 ? "Replay" : `Replay ${counted(ids.length)}`}
      </button>
      {isAsking && (
        <ReplayQuestion
          ids={ids}
          channel={channel}
          cancelled={() => {
            setIsAsking(false);
          }}
          done={(sent) => {
            setIsAsking(false);
            setResult(sent);
            replayed();
          }}
        />
      )}
      {result !== undefined && (
        <Followed key={result.sent.join(" ")} result={result} channel={channel} known={known} />
      )}
    </>
  );
}
