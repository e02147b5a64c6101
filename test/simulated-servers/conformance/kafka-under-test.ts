/**
 * What a scene needs of a Kafka, real or simulated, and what it observes through the ports of the product.
 */
import type { GroupMember, LogWatch, OutgoingRecord, RecordBatch, RecordProducer } from "@topicsync/kafka";

/** What a real and a simulated Kafka must play alike: it returns what the product would see. */
export interface Scene {
  readonly name: string;
  readonly partitions: number;
  readonly play: (kafka: KafkaUnderTest) => Promise<unknown>;
}

export interface TestRecord {
  readonly value: string;
  /** Milliseconds after `startOfTime`; 0 by default. */
  readonly at?: number;
}

export interface TestTransaction {
  readonly append: (records: readonly TestRecord[]) => Promise<void>;
  readonly end: (commit: boolean) => Promise<void>;
}

/** A topic, and a group that reads it. */
export interface KafkaUnderTest {
  /** Transaction markers are an hour younger. */
  readonly startOfTime: number;
  readonly topic: string;
  readonly watch: LogWatch;
  readonly createMember: () => GroupMember;
  /** Sends to a topic of one partition. */
  readonly send: RecordProducer["send"];
  /** Appends to the topic; the records are readable then. */
  readonly append: (partition: number, records: readonly TestRecord[]) => Promise<void>;
  readonly begin: (partition: number) => Promise<TestTransaction>;
  readonly deleteBefore: (partition: number, offset: number) => Promise<void>;
  /** Adds partitions to the topic. */
  readonly grow: (partitions: number) => Promise<void>;
  /** Loses the next response to a member that synchronises, and its connections with it. */
  readonly loseSync: () => void;
  readonly hasLostSync: () => boolean;
  /** Deletes the topic and creates it again. */
  readonly recreate: () => Promise<void>;
  /** Cuts the members off from the broker, or lets them connect again. */
  readonly setConnected: (isConnected: boolean) => void;
  readonly until: (what: string, isMet: () => boolean | Promise<boolean>) => Promise<void>;
}

export const toRecords = (...values: string[]): TestRecord[] => values.map((value) => ({ value }));

export const toOutgoing = (value: string): OutgoingRecord => ({
  key: null,
  value: Buffer.from(value),
  headers: [],
  timestamp: undefined,
});

/** A running member that keeps what it is given. */
export interface Reader {
  readonly member: GroupMember;
  readonly getAssigned: () => readonly number[];
  readonly countAssignments: () => number;
  /** Everything before it was delivered. */
  readonly getPosition: (partition: number) => number;
  /** Returns the offsets and values that were delivered since the last call. */
  readonly takeDelivered: (partition: number) => readonly string[];
  readonly seek: (partition: number, offset: number) => void;
  /** Takes the records of a batch up to an offset, by default all of them. */
  readonly take: (batch: RecordBatch, upTo?: number) => void;
  readonly stop: () => Promise<void>;
}

/** What was delivered of each partition. */
function createNotes() {
  const delivered = new Map<number, string[]>();
  return {
    note: (partition: number, lines: readonly string[]): void => {
      delivered.set(partition, [...(delivered.get(partition) ?? []), ...lines]);
    },
    takeDelivered: (partition: number): readonly string[] => {
      const taken = delivered.get(partition) ?? [];
      delivered.delete(partition);
      return taken;
    },
  };
}

/** Starts a member that, like the product, seeks to its own positions whenever it is assigned partitions. */
export async function startReader(
  { topic, watch, createMember, until }: KafkaUnderTest,
  onBatch?: (batch: RecordBatch, reader: Reader) => Promise<void> | void,
): Promise<Reader> {
  const member = createMember();
  let assigned: readonly number[] | undefined;
  let assignments = 0;
  let died: Error | undefined;
  const positions = new Map<number, number>();
  const topicIds = new Map<number, string | undefined>();
  const { note, takeDelivered } = createNotes();

  const reader: Reader = {
    member,
    getAssigned: () => assigned ?? [],
    countAssignments: () => assignments,
    getPosition: (partition) => positions.get(partition) ?? 0,
    takeDelivered,
    seek(partition, offset) {
      positions.set(partition, offset);
      member.seek({ topic, partition }, offset);
    },
    take(batch, upTo = batch.end) {
      const { partition } = batch.partition;
      const taken = batch.records.filter(({ offset }) => offset < upTo);
      note(
        partition,
        taken.map(({ offset, value }) => `${offset} ${String(value)}`),
      );
      positions.set(partition, upTo);
      batch.advance(upTo - 1);
    },
    stop: () => member.stop(),
  };

  await member.run({
    onAssigned(partitions) {
      assignments += 1;
      assigned = partitions.map(({ partition }) => partition);
      for (const [partition, offset] of positions)
        if (assigned.includes(partition)) member.seek({ topic, partition }, offset);
    },
    async onBatch(batch) {
      const { partition } = batch.partition;
      const isOtherLog = batch.topicId !== (topicIds.get(partition) ?? batch.topicId);
      topicIds.set(partition, batch.topicId);
      if (batch.isOutOfRange || isOtherLog) {
        note(partition, [batch.isOutOfRange ? "out of range" : "another log"]);
        reader.seek(partition, (await watch.fetchLog(partition)).low);
        return;
      }
      if (onBatch !== undefined && batch.records.length > 0) return onBatch(batch, reader);
      const expected = positions.get(partition) ?? batch.fetchedFrom;
      // Requested before a seek.
      if (batch.fetchedFrom === expected) reader.take(batch);
      else reader.seek(partition, expected);
    },
    onDenied(error) {
      died = error;
    },
    onDied(error) {
      died = error;
    },
  });
  await until("the member has joined", () => {
    if (died !== undefined) throw died;
    return assigned !== undefined;
  });
  return reader;
}

export const untilAt = (
  kafka: KafkaUnderTest,
  reader: Reader,
  offset: number,
  partition = 0,
): Promise<void> =>
  kafka.until(
    `partition ${partition} is read up to ${offset}`,
    () => reader.getPosition(partition) === offset,
  );

/** Waits until whatever was in the log of partition 0 before has been fetched, if the member fetches it. */
export async function readOtherPartition(kafka: KafkaUnderTest, reader: Reader): Promise<void> {
  // The records of the first round may be fetched together with those of partition 0.
  for (const round of [1, 2]) {
    await kafka.append(1, toRecords(`round ${round}`));
    const end = (await kafka.watch.fetchLog(1)).high;
    await untilAt(kafka, reader, end, 1);
  }
}
