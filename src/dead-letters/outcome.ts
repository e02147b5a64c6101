import type { DeadLetterCode } from "./dead-letter.ts";
import { formatRecordPosition } from "../sync/records.ts";
import type { Replay, SyncState } from "./stores.ts";

/** What came of a replay. */
export type ReplayOutcome =
  /**
   * It began to be sent, and was never said to have arrived; or its Kafka topic was deleted and created again since, and
   * nobody knows whether the sync had come to it.
   */
  | { readonly kind: "perhaps replayed" }
  /** The sync has not come to it yet. */
  | { readonly kind: "waiting" }
  | { readonly kind: "taken" }
  | { readonly kind: "refused again"; readonly code: DeadLetterCode; readonly letter: string };

/** A replay, and what came of it. */
export interface ReplayWithOutcome extends Replay {
  readonly outcome: ReplayOutcome;
}

export interface OutcomeFacts {
  readonly positions: Awaited<ReturnType<SyncState["positions"]>>;
  /** Why the letter of an id was refused; undefined when there is none. */
  readonly codeOf: (id: string) => DeadLetterCode | undefined;
}

/** What came of a replay: the sync has passed it, and it lies among the dead letters again or not. */
export function getOutcome({ state, sentTo }: Replay, { positions, codeOf }: OutcomeFacts): ReplayOutcome {
  const { topic, partition, offset, epoch = 1 } = sentTo;
  if (state === "sending" || partition === undefined || offset === undefined)
    return { kind: "perhaps replayed" };
  const position = positions.find((one) => one.topic === topic && one.partition === partition);
  const letter = formatRecordPosition({ topic, partition, offset, epoch });
  const code = codeOf(letter);
  if (position === undefined || position.epoch < epoch) return { kind: "waiting" };
  if (position.epoch === epoch && position.nextOffset <= offset) return { kind: "waiting" };
  if (code !== undefined) return { kind: "refused again", code, letter };
  return { kind: position.epoch === epoch ? "taken" : "perhaps replayed" };
}

/** An outcome in words. */
export const outcomeText = (outcome: ReplayOutcome): string =>
  outcome.kind === "refused again" ? `refused again (${outcome.code})` : outcome.kind;
