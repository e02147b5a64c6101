import type { Position, PositionKey } from "../sync/positions.ts";
import type { AnnouncementSource, Source } from "../topics/topic.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import type { RetiredRecord, TopicRecord } from "./topic-records.ts";

/** How far a producer's clock may be ahead of ours. */
const clockSkewMs = 60_000;
const recordsPerRead = 5_000;

/**
 * The position after the last announcement of a partition that the stored and retired topics come from;
 * undefined when no stored topic comes from the partition. Reads all records, in small steps: needed rarely,
 * and an index would slow every write.
 */
export async function derivePosition(
  database: Database,
  { topic, partition }: PositionKey,
): Promise<Position | undefined> {
  const topics = database
    .collection<TopicRecord>(collections.topics)
    .find({ "source.topic": topic, "source.partition": partition }, { batchSize: recordsPerRead })
    .project<Pick<TopicRecord, "source" | "sys_updated_on">>({ source: 1, sys_updated_on: 1 });
  const retired = database
    .collection<RetiredRecord>(collections.retiredTopics)
    .find({ "retired_by.topic": topic, "retired_by.partition": partition }, { batchSize: recordsPerRead })
    .project<Pick<RetiredRecord, "retired_by" | "retired_on">>({ retired_by: 1, retired_on: 1 });

  let last: Trace | undefined;
  for await (const { source, sys_updated_on } of topics)
    last = pickLater(last, { source, on: sys_updated_on });
  // Without topics, the collection was emptied, and the log must be read again.
  if (last === undefined) return undefined;
  for await (const { retired_by, retired_on } of retired)
    last = pickLater(last, { source: retired_by, on: retired_on });
  const { source, on } = last;
  return { offset: source.offset + 1, epoch: getEpoch(source), newest: on.getTime() + clockSkewMs };
}

/** An announcement that a stored record comes from, and when it was stored. */
interface Trace {
  readonly source: AnnouncementSource;
  readonly on: Date;
}

function pickLater<L extends Trace | undefined>(
  last: L,
  { source, on }: { source: Source; on: Date },
): L | Trace {
  if (source.kind !== "announcement") return last;
  if (last === undefined || getEpoch(source) > getEpoch(last.source)) return { source, on };
  return getEpoch(source) === getEpoch(last.source) && source.offset > last.source.offset
    ? { source, on }
    : last;
}

const getEpoch = ({ epoch }: AnnouncementSource): number => epoch ?? 1;
