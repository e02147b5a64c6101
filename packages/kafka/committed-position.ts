import type { TopicOffsets } from "kafkajs";

import type { ClaimedPosition, Position } from "./interface/positions.ts";
import type { Partition } from "./interface/records.ts";
import type { CommittedOffset } from "./protocol/offset-fetch.ts";

/** The router commits this with an offset, as JSON. */
interface PositionMetadata {
  readonly epoch: number;
  /** Kafka commits an offset by the topic's name: it may belong to a topic that was deleted since. */
  readonly topicId?: string;
  /** Tools that mirror a cluster copy this with the offset. */
  readonly clusterId?: string;
  /** The producer that committed it. */
  readonly by: string;
}

/** What to commit for a position. */
export function toOffsets(
  { topic, partition }: Partition,
  { offset, epoch, topicId, clusterId }: Position,
  by: string,
): TopicOffsets {
  const log = { ...(topicId !== undefined && { topicId }), ...(clusterId !== undefined && { clusterId }) };
  const metadata: PositionMetadata = { epoch, ...log, by };
  const position = { partition, offset: String(offset), metadata: JSON.stringify(metadata) };
  return { topic, partitions: [position] };
}

/**
 * The position that a committed offset stands for; undefined when nothing was committed. Offsets that other
 * programs set have no metadata of ours, and count for the log that is there.
 */
export function toPosition(
  { offset, metadata }: CommittedOffset,
  ownId?: string,
): ClaimedPosition | undefined {
  if (offset < 0) return undefined;
  const { epoch = 1, topicId, clusterId, by } = parseMetadata(metadata);
  return {
    offset,
    epoch,
    topicId,
    ...(clusterId !== undefined && { clusterId }),
    isOurs: by !== undefined && by === ownId,
  };
}

/** Everything is checked, because every user of the group may write it. */
function parseMetadata(text: string): Partial<PositionMetadata> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return {};
  }
  if (typeof parsed !== "object" || parsed === null) return {};
  const { epoch, topicId, clusterId, by } = parsed as Record<string, unknown>;
  return {
    ...(Number.isSafeInteger(epoch) && (epoch as number) >= 1 ? { epoch: epoch as number } : {}),
    ...(typeof topicId === "string" ? { topicId } : {}),
    ...(typeof clusterId === "string" ? { clusterId } : {}),
    ...(typeof by === "string" ? { by } : {}),
  };
}
