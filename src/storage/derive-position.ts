import type { Position, PositionKey } from "@topicsync/kafka";
import type { AnnouncementSource, Source } from "../topics/topic.ts";
import type { Database } from "./database/database.ts";
import type { LogEpochRecord } from "./logs.ts";
import { collections } from "./names.ts";
import type { RetiredRecord, TopicRecord } from "./topics/records.ts";

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
    .project<Pick<TopicRecord, "source">>({ source: 1 });
  const retired = database
    .collection<RetiredRecord>(collections.retiredTopics)
    .find({ "retired_by.topic": topic, "retired_by.partition": partition }, { batchSize: recordsPerRead })
    .project<Pick<RetiredRecord, "retired_by">>({ retired_by: 1 });

  let last: AnnouncementSource | undefined;
  for await (const { source } of topics) last = pickLater(last, source);
  // Without topics, the collection was emptied, and the log must be read again.
  if (last === undefined) return undefined;
  for await (const { retired_by } of retired) last = pickLater(last, retired_by);
  const epoch = getEpoch(last);
  const log = await database
    .collection<LogEpochRecord>(collections.logs)
    .findOne({ kafka_topic: topic, epoch });
  const cluster = typeof log?.cluster_id === "string" ? { clusterId: log.cluster_id } : {};
  return { offset: last.offset + 1, epoch, topicId: log?.kafka_topic_id, ...cluster };
}

function pickLater<L extends AnnouncementSource | undefined>(
  last: L,
  source: Source,
): L | AnnouncementSource {
  if (source.kind !== "announcement") return last;
  if (last === undefined || getEpoch(source) > getEpoch(last)) return source;
  return getEpoch(source) === getEpoch(last) && source.offset > last.offset ? source : last;
}

const getEpoch = ({ epoch }: AnnouncementSource): number => epoch ?? 1;
