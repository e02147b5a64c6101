import { formatRecordPosition } from "@topicsync/kafka";
import type { ReplayView } from "../../schemas/dead-letters/dead-letter.ts";
import type { DeadLetterCode } from "./dead-letter.ts";
import type { DeadLetterReader, Replay, ReplayStore, SyncPosition } from "./stores.ts";

/**
 * `unknown`: the broker never acknowledged it, or its Kafka topic was deleted and created again before the
 * sync was seen to reach it. `pending`: the sync has not reached it yet.
 */
type ReplayOutcome = ReplayView["outcome"];

export interface ReplayWithOutcome extends Replay {
  readonly outcome: ReplayOutcome;
}

export interface ReplaySources {
  readonly replays: Pick<ReplayStore, "find">;
  readonly letters: Pick<DeadLetterReader, "find">;
}

export type ReplaysById = ReadonlyMap<string, readonly ReplayWithOutcome[]>;

/** The replays of these dead letters, the first attempt first, given how far the sync has come. */
export async function findReplays(
  ids: readonly string[],
  positions: readonly SyncPosition[],
  { replays, letters }: ReplaySources,
): Promise<ReplaysById> {
  const found = await replays.find(ids);
  const rejected = await letters.find(found.flatMap((replay) => getSentId(replay) ?? []));
  const codes = new Map(rejected.map(({ id, code }) => [id, code]));
  return Map.groupBy(
    found.map((replay) => ({ ...replay, outcome: getOutcome(replay, positions, codes) })),
    ({ deadLetterId }) => deadLetterId,
  );
}

/** The position that a replay was sent to, which is the id of its dead letter if it is rejected. */
export function getSentId({ sentTo: { topic, partition, offset, epoch = 1 } }: Replay): string | undefined {
  if (partition === undefined || offset === undefined) return undefined;
  return formatRecordPosition({ topic, partition, offset, epoch });
}

/** Once the sync is past a replay, it is either a dead letter again or applied. */
function getOutcome(
  replay: Replay,
  positions: readonly SyncPosition[],
  codes: ReadonlyMap<string, DeadLetterCode>,
): ReplayOutcome {
  const { topic, partition, offset = 0, epoch = 1 } = replay.sentTo;
  const deadLetterId = getSentId(replay);
  if (replay.state === "sending" || deadLetterId === undefined) return { status: "unknown" };
  const position = positions.find((one) => one.topic === topic && one.partition === partition);
  if (position === undefined || position.epoch < epoch) return { status: "pending" };
  if (position.epoch === epoch && position.offset <= offset) return { status: "pending" };
  const code = codes.get(deadLetterId);
  if (code !== undefined) return { status: "rejected", code, deadLetterId };
  return { status: position.epoch === epoch ? "applied" : "unknown" };
}

/** For people, such as `rejected (KEY_MISMATCH)`. */
export const formatOutcome = ({ status, code }: ReplayView["outcome"]): string =>
  code === undefined ? status : `${status} (${code})`;
