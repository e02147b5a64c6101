import { useEffect, useState } from "preact/hooks";
import { Link } from "wouter-preact";

import type { DeadLetterChannel, ReplayOutcomes, ReplayResult } from "../../../../schemas/dead-letters.ts";
import { ask } from "../../api.ts";
import { isOver } from "../../query.ts";
import { Failure } from "../../components/error-message.tsx";
import { counted } from "../../components/format.ts";
import { useSession } from "../../session.ts";
import { outcomesPath, pageOfLetter } from "./addresses.ts";
import { Outcome } from "./outcome.tsx";
import { Skipped } from "./skipped.tsx";

const everyMs = 2_000;
/** Two minutes: a sync that is further behind than that has its own page. */
const maxTimes = 60;

interface FollowedProps {
  readonly result: ReplayResult;
  readonly channel: DeadLetterChannel;
  /** It is known what came of all. */
  readonly known: () => void;
}

/** What came of letters that were sent: asked for until it is known. */
export function Followed({ result: { sent, skipped }, channel, known }: FollowedProps) {
  const [letters, setLetters] = useState<ReplayOutcomes["deadLetters"]>([]);
  const [error, setError] = useState<unknown>();
  const [isFollowing, setIsFollowing] = useState(true);
  const { leave } = useSession();

  useEffect(() => {
    if (sent.length === 0) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isWanted = true;
    let times = 0;

    function look(): void {
      times += 1;
      ask<ReplayOutcomes>(outcomesPath, { ids: sent, channel }).then(
        (result) => {
          if (!isWanted) return;
          setLetters(result.deadLetters);
          setError(undefined);
          if (result.deadLetters.some(isWaiting)) lookAgain();
          else {
            setIsFollowing(false);
            known();
          }
        },
        (problem: unknown) => {
          if (!isWanted) return;
          if (isOver(problem)) leave("over");
          else {
            setError(problem);
            lookAgain();
          }
        },
      );
    }

    function lookAgain(): void {
      if (times < maxTimes) timer = setTimeout(look, everyMs);
      else setIsFollowing(false);
    }

    look();
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [sent, channel]);

  const waits = sent.length > 0 && (letters.length === 0 || letters.some(isWaiting));
  return (
    <article class="replayed" aria-labelledby="replayed">
      <div role="status">
        <h2 id="replayed">{headingOf(sent.length, letters)}</h2>
      </div>
      {error !== undefined && <Failure error={error} />}
      <ul>
        {letters.slice(0, maxShown).map(({ id, replay }) => (
          <li key={id}>
            <Link href={pageOfLetter(id, channel)}>{id}</Link>: <Outcome replay={replay} channel={channel} />
          </li>
        ))}
        {letters.length > maxShown && <li>and {counted(letters.length - maxShown)} more</li>}
      </ul>
      {waits && !isFollowing && (
        <p>The sync has not come to all of them yet. The list shows it when it has.</p>
      )}
      <Skipped skipped={skipped} />
    </article>
  );
}

const maxShown = 20;

const isWaiting = ({ replay }: ReplayOutcomes["deadLetters"][number]): boolean =>
  replay?.outcome.status === "pending";

function headingOf(sent: number, letters: ReplayOutcomes["deadLetters"]): string {
  if (sent === 0) return "Nothing was sent";
  const parts = (["applied", "rejected", "pending", "unknown"] as const)
    .map((status) => ({
      status,
      count: letters.filter(({ replay }) => replay?.outcome.status === status).length,
    }))
    .filter(({ count }) => count > 0)
    .map(({ status, count }) => `${counted(count)} ${status}`);
  return `${counted(sent)} sent${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`;
}
