import type { ReplayView } from "../../schemas/dead-letter-api.ts";
import { formatRecordPosition } from "../sync/records.ts";
import type { DeadLetterCode } from "./dead-letter.ts";
import type { Replay, SyncPosition } from "./stores.ts";

export type ReplayOutcome =
  /**
   * The broker never acknowledged it, or its Kafka topic was deleted and created again before the sync was
   * seen to reach it.
   */
  | { readonly status: "unknown" }
  /** The sync has not reached it yet. */
  | { readonly status: "pending" }
  | { readonly status: "applied" }
  | { readonly status: "rejected"; readonly code: DeadLetterCode; readonly deadLetterId: string };

export interface ReplayWithOutcome extends Replay {
  readonly outcome: ReplayOutcome;
}

export interface OutcomeFacts {
  readonly positions: readonly SyncPosition[];
  /** The code of a dead letter; undefined when there is none with this id. */
  readonly findCode: (id: string) => DeadLetterCode | undefined;
}

/** The outcome of a replay: once the sync is past it, it is either a dead letter again or applied. */
export function getOutcome({ state, sentTo }: Replay, { positions, findCode }: OutcomeFacts): ReplayOutcome {
  const { topic, partition, offset, epoch = 1 } = sentTo;
  if (state === "sending" || partition === undefined || offset === undefined) return { status: "unknown" };
  const position = positions.find((one) => one.topic === topic && one.partition === partition);
  if (position === undefined || position.epoch < epoch) return { status: "pending" };
  if (position.epoch === epoch && position.offset <= offset) return { status: "pending" };
  const deadLetterId = formatRecordPosition({ topic, partition, offset, epoch });
  const code = findCode(deadLetterId);
  if (code !== undefined) return { status: "rejected", code, deadLetterId };
  return { status: position.epoch === epoch ? "applied" : "unknown" };
}

/** For people, such as `rejected (KEY_MISMATCH)`. */
export const formatOutcome = ({ status, code }: ReplayView["outcome"]): string =>
  code === undefined ? status : `${status} (${code})`;
