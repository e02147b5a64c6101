import { useEffect, useState } from "preact/hooks";
import { Link } from "wouter-preact";

import type { DeadLetterChannel, ReplayView } from "../../../../schemas/dead-letters/dead-letter.ts";
import type { ReplayOutcomes, ReplayResult } from "../../../../schemas/dead-letters/replay.ts";
import { api } from "../../api.ts";
import { isSessionExpired } from "../../query.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { formatCount } from "../../components/format.ts";
import { useSession } from "../../session.ts";
import { outcomesPath, toDeadLetterHref } from "./paths.ts";

const pollIntervalMs = 2_000;
/** Two minutes; a longer lag is shown on the overview. */
const maxPolls = 60;

interface ReplayProgressProps {
  readonly result: ReplayResult;
  readonly channel: DeadLetterChannel;
  /** Called when no outcome is pending any more. */
  readonly onSettled: () => void;
}

function useOutcomes({ result: { sent }, channel, onSettled }: ReplayProgressProps) {
  const [outcomes, setOutcomes] = useState<ReplayOutcomes["deadLetters"]>([]);
  const [error, setError] = useState<unknown>();
  const [isPolling, setIsPolling] = useState(true);
  const { expire } = useSession();

  useEffect(() => {
    if (sent.length === 0) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isMounted = true;
    let polls = 0;

    function poll(): void {
      polls += 1;
      api.post<ReplayOutcomes>(outcomesPath, { ids: sent, channel }).then(
        (result) => {
          if (!isMounted) return;
          setOutcomes(result.deadLetters);
          setError(undefined);
          if (result.deadLetters.some(isPending)) pollLater();
          else {
            setIsPolling(false);
            onSettled();
          }
        },
        (problem: unknown) => {
          if (!isMounted) return;
          if (isSessionExpired(problem)) expire();
          else {
            setError(problem);
            pollLater();
          }
        },
      );
    }

    function pollLater(): void {
      if (polls < maxPolls) timer = setTimeout(poll, pollIntervalMs);
      else setIsPolling(false);
    }

    poll();
    return () => {
      isMounted = false;
      clearTimeout(timer);
    };
  }, [sent, channel]);

  return { outcomes, error, isPolling };
}

/** The outcomes of sent dead letters, followed until none is pending. */
export function ReplayProgress(props: ReplayProgressProps) {
  const { outcomes, error, isPolling } = useOutcomes(props);
  const {
    channel,
    result: { sent, skipped },
  } = props;
  const hasPending = sent.length > 0 && (outcomes.length === 0 || outcomes.some(isPending));
  return (
    <article class="replayed" aria-labelledby="replayed">
      <div role="status">
        <h2 id="replayed">{formatHeading(sent.length, outcomes)}</h2>
      </div>
      {error !== undefined && <ErrorMessage error={error} />}
      <ul>
        {outcomes.slice(0, maxShown).map(({ id, replay }) => (
          <li key={id}>
            <Link href={toDeadLetterHref(id, channel)}>{id}</Link>:{" "}
            <Outcome replay={replay} channel={channel} />
          </li>
        ))}
        {outcomes.length > maxShown && <li>and {formatCount(outcomes.length - maxShown)} more</li>}
      </ul>
      {hasPending && !isPolling && (
        <p>Some have not been applied yet. Their outcome will appear in the list.</p>
      )}
      <Skipped skipped={skipped} />
    </article>
  );
}

const maxShown = 20;

const isPending = ({ replay }: ReplayOutcomes["deadLetters"][number]): boolean =>
  replay?.outcome.status === "pending";

function formatHeading(sent: number, outcomes: ReplayOutcomes["deadLetters"]): string {
  if (sent === 0) return "Nothing was sent";
  const parts = (["applied", "rejected", "pending", "unknown"] as const)
    .map((status) => ({
      status,
      count: outcomes.filter(({ replay }) => replay?.outcome.status === status).length,
    }))
    .filter(({ count }) => count > 0)
    .map(({ status, count }) => `${formatCount(count)} ${status}`);
  return `${formatCount(sent)} sent${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`;
}

const maxSkippedShown = 10;

/** What is not sent, with the reasons. */
export function Skipped({ skipped }: Pick<ReplayResult, "skipped">) {
  if (skipped.length === 0) return null;
  return (
    <>
      <p>{skipped.length === 1 ? "1 is not sent:" : `${formatCount(skipped.length)} are not sent:`}</p>
      <ul class="skipped">
        {skipped.slice(0, maxSkippedShown).map(({ id, message }) => (
          <li key={id}>
            <code>{id}</code>: {message}
          </li>
        ))}
        {skipped.length > maxSkippedShown && (
          <li>and {formatCount(skipped.length - maxSkippedShown)} more</li>
        )}
      </ul>
    </>
  );
}

const outcomeTexts = {
  applied: "applied",
  pending: "not applied yet",
  rejected: "rejected again",
  unknown: "unknown: sending was not confirmed",
} as const;

interface OutcomeProps {
  readonly replay: Pick<ReplayView, "outcome"> | null;
  readonly channel: DeadLetterChannel;
}

/** The outcome of a replay; a rejected one links to its new dead letter. */
export function Outcome({ replay, channel }: OutcomeProps) {
  if (replay === null) return <>–</>;
  const { status, code, deadLetterId } = replay.outcome;
  if (deadLetterId === undefined) return <>{outcomeTexts[status]}</>;
  return (
    <>
      {outcomeTexts[status]}: <Link href={toDeadLetterHref(deadLetterId, channel)}>{code ?? "show"}</Link>
    </>
  );
}
