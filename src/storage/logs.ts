import type { KnownLog, LogStore, NewLog, Partition } from "@topicsync/kafka";
import { invariant } from "@topicsync/lib/invariant";
import { currentDate } from "@topicsync/lib/platform";
import { newId } from "@topicsync/lib/sys-id";
import { maxUpdateMs, updateLimit } from "./database/client-options.ts";
import type { Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections } from "./names.ts";
import type { PositionRecord } from "./position-records.ts";

/** A log that was read: a Kafka topic as it is until it is deleted. */
export interface LogEpochRecord {
  _id: string;
  kafka_topic: string;
  /** Kafka's topic id, as its tools print it. */
  kafka_topic_id: string;
  epoch: number;
  cluster_id: string | null;
  /** The partitions that were read in this log, and how many there were at first. Absent in older records. */
  read_partitions?: number[];
  partition_count?: number;
  first_seen_on: Date;
  last_claimed_on: Date;
}

/** More than the processes that can meet a new log at the same moment. */
const maxAttempts = 20;

/**
 * Creates the store of epochs.
 *
 * Invariant: an epoch belongs to one topic id forever, so nothing that is named by it (the ids of events and
 * dead letters) is ever used for another log. What an election could lose does not count.
 */
export function createLogStore(database: Database): LogStore {
  const logs = database.collection<LogEpochRecord>(collections.logs);

  async function findEpoch({ topic, partition }: Partition, topicId: string): Promise<number | undefined> {
    // A write, because its acknowledgement covers what it found: a record that was only read may be lost by
    // an election.
    const found = await logs.findOneAndUpdate(
      { kafka_topic: topic, kafka_topic_id: topicId },
      { $set: { last_claimed_on: currentDate() }, $addToSet: { read_partitions: partition } },
      { returnDocument: "after", maxTimeMS: maxUpdateMs },
    );
    return found?.epoch;
  }

  async function insert({ topic, partition }: Partition, log: NewLog & { readonly epoch: number }) {
    const seenOn = currentDate();
    const record: LogEpochRecord = {
      _id: newId(),
      kafka_topic: topic,
      kafka_topic_id: log.topicId,
      epoch: log.epoch,
      cluster_id: log.clusterId,
      read_partitions: [partition],
      partition_count: log.partitions,
      first_seen_on: seenOn,
      last_claimed_on: seenOn,
    };
    await database.ensureIndexes(collections.logs);
    await logs.insertOne(record, updateLimit);
  }

  /** Returns false if another process has done so. */
  async function replace(log: { topic: string; topicId: string; known: number; epoch: number }) {
    const { matchedCount } = await logs.updateOne(
      { kafka_topic: log.topic, kafka_topic_id: log.topicId, epoch: log.known },
      { $set: { epoch: log.epoch } },
      updateLimit,
    );
    return matchedCount === 1;
  }

  return {
    findEpoch: (partition, topicId) => database.run(() => findEpoch(partition, topicId)),

    findLogs: (topic) =>
      database.run(async () => (await logs.find({ kafka_topic: topic }).toArray()).flatMap(toKnownLog)),

    beginEpoch: (partition, log, lowest) =>
      database.run(async () => {
        const { topic } = partition;
        const { topicId } = log;
        for (let attempt = 1; ; attempt += 1) {
          const known = await findEpoch(partition, topicId);
          if (known !== undefined && known >= lowest) return known;
          const epoch = Math.max(lowest, await findNextEpoch(database, topic, topicId));
          invariant(known === undefined || epoch > known, "the epoch of a log never goes down");
          try {
            if (known === undefined) await insert(partition, { ...log, epoch });
            else if (!(await replace({ topic, topicId, known, epoch }))) continue;
            return epoch;
          } catch (error) {
            // Another process met the same log, or another one, at the same moment.
            if (!isDuplicate(error) || attempt === maxAttempts) throw error;
          }
        }
      }),
  };
}

const toKnownLog = ({
  kafka_topic_id: topicId,
  cluster_id: clusterId,
  read_partitions: read = [],
  partition_count: count,
}: LogEpochRecord): KnownLog[] => {
  if (clusterId === null) return [];
  const hasBegun = (partition: number): boolean =>
    count === undefined || partition >= count || read.includes(partition);
  return [{ topicId, clusterId, hasBegun }];
};

/** The epoch of the first log that is known: that of the positions that were stored before ids were. */
async function findFirstEpoch(database: Database, topic: string, topicId: string): Promise<number> {
  const positions = database.collection<PositionRecord>(collections.positions);
  const stored = await positions.find({ "_id.topic": topic }).toArray();
  const epochs = stored.map(({ epoch = 1, kafka_topic_id: id = topicId }) =>
    id === topicId ? epoch : epoch + 1,
  );
  return Math.max(1, ...epochs);
}

async function findNextEpoch(database: Database, topic: string, topicId: string): Promise<number> {
  const logs = database.collection<LogEpochRecord>(collections.logs);
  const known = await logs.find({ kafka_topic: topic }).toArray();
  if (known.length === 0) return findFirstEpoch(database, topic, topicId);
  const next = Math.max(...known.map(({ epoch }) => epoch)) + 1;
  invariant(
    known.every(({ epoch }) => epoch < next),
    "an epoch belongs to one topic id",
  );
  return next;
}
