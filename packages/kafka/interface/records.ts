/** A partition of a Kafka topic. */
export interface Partition {
  readonly topic: string;
  readonly partition: number;
}

export const isSamePartition = (a: Partition, b: Partition): boolean =>
  a.topic === b.topic && a.partition === b.partition;

/** Where a record is, which names it. How far a group has read is a Position. */
export interface RecordPosition extends Partition {
  readonly offset: number;
  /** The epoch of the log that the offset belongs to; absent for the first. See Position. */
  readonly epoch?: number;
}

/** `topic-partition-offset`, from the second epoch on `topic-partition-offset-epoch`. */
export const formatRecordPosition = ({ topic, partition, offset, epoch = 1 }: RecordPosition): string =>
  `${topic}-${partition}-${offset}${epoch === 1 ? "" : `-${epoch}`}`;

/** A header. One without a value differs from one with an empty value. */
export type RecordHeader = readonly [name: string, value: Buffer | string | null];

/** The headers of a record, in its order. A name may occur more than once. */
export type RecordHeaders = readonly RecordHeader[];

/** The last value of a header; undefined when the header is absent or has no value. */
export const getHeader = (headers: RecordHeaders, name: string): Buffer | string | undefined =>
  headers.findLast(([one]) => one === name)?.[1] ?? undefined;

/** Adds headers at the end, and removes others of the same names. */
export const withHeaders = (headers: RecordHeaders, added: RecordHeaders): RecordHeaders =>
  headers.length === 0
    ? added
    : [...headers.filter(([name]) => !added.some(([other]) => other === name)), ...added];

/** The last value of a header as text; malformed UTF-8 is replaced. */
export const getHeaderText = (headers: RecordHeaders, name: string): string | undefined =>
  getHeader(headers, name)?.toString();

/** A batch of records that was not read, because it is too large or cannot be decoded. */
export interface SkippedBatch {
  readonly firstOffset: number;
  readonly lastOffset: number;
  readonly code: "TOO_LARGE" | "UNDECODABLE";
  /** A predicate of the batch: "has more than …", "cannot be decoded: …". */
  readonly reason: string;
}

/** A record of a Kafka topic. */
export interface LogRecord {
  readonly offset: number;
  /** Milliseconds since 1970, as the producer or the broker set it. */
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  /** Set on a placeholder for an unread batch: it has the last offset, and no key, value or headers. */
  readonly skippedBatch?: SkippedBatch;
}

/**
 * About how many bytes the parts of a record take.
 *
 * @param headerOverheadBytes - What a header takes besides its text; by default, in memory.
 */
export function measureRecord(
  { key, value, headers }: Pick<LogRecord, "key" | "value" | "headers">,
  headerOverheadBytes = 128,
): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, text] of headers) bytes += name.length + headerOverheadBytes + (text?.length ?? 0);
  return bytes;
}

/** The readable offsets of a partition: from `low` up to, but not including, `high`. */
export interface LogBounds {
  readonly low: number;
  readonly high: number;
}

/** The bounds of a partition, found by name. */
export interface TopicBounds extends LogBounds {
  /**
   * The id of the topic, as some broker knows it, which may be behind. Undefined where brokers have no ids.
   */
  readonly topicId?: string | undefined;
}

/** The log of a partition, as its leader shows it. */
export interface PartitionLog extends LogBounds {
  /** Kafka's id of the topic that the log belongs to; undefined where brokers cannot fetch by id. */
  readonly topicId: string | undefined;
  readonly clusterId: string | null;
  /**
   * The node id of the leader, and how often the partition has had another one; the latter is -1 where
   * brokers do not tell.
   */
  readonly leader: number;
  readonly leaderEpoch: number;
  /** How many partitions the Kafka topic has. */
  readonly partitions: number;
}

/** What was fetched together. */
export interface RecordBatch {
  readonly partition: Partition;
  /**
   * The topic id by which it was fetched, and so that of the log; undefined where brokers cannot fetch by id.
   */
  readonly topicId: string | undefined;
  /** The log does not have the requested offset: there are no records. */
  readonly isOutOfRange: boolean;
  /** Why Kafka cannot read this partition at the moment. There are no records then. */
  readonly failure?: Error | undefined;
  /** The offset that was requested. */
  readonly fetchedFrom: number;
  /** In offset order; none when only markers, aborted records and what compaction left were fetched. */
  readonly records: readonly LogRecord[];
  /** The offset after everything fetched, the markers of transactions included. */
  readonly end: number;
  /** Whether the log had no more records when these were fetched. */
  readonly isAtEnd: boolean;
  /** The next fetch continues after this offset. */
  advance(offset: number): void;
  /** Sends a heartbeat; false when the batch must be left because the group is rebalancing. */
  heartbeat(): Promise<boolean>;
  /** False when the records are outdated: the partition was repositioned, or the consumer is stopping. */
  isCurrent(): boolean;
}

/** The callbacks of a member of a consumer group. */
export interface GroupListener {
  /** The member owns these partitions, and no others, from now on. Called before they are fetched. */
  onAssigned(partitions: readonly Partition[]): void;
  /** A broker has responded to a fetch, with or without records. */
  onFetched?(): void;
  /** Never throws. */
  onBatch(batch: RecordBatch): Promise<void>;
  /** Kafka denies a right that the member had. It tries to join again until the right is granted. */
  onDenied(error: Error): void;
  /** The member ended and does not join again. */
  onDied(error: Error): void;
}

/** One member of a consumer group, reading one topic. */
export interface GroupMember {
  /** Joins the group. Resolves when the member runs. After an UnavailableError it can be called again. */
  run(listener: GroupListener): Promise<void>;
  /** Whether the group may still count on this member: it has joined, and its session has not expired. */
  isInGroup(): boolean;
  /** `pause`, `resume` and `seek` do nothing while the member is out of the group. */
  pause(partition: Partition): void;
  resume(partition: Partition): void;
  /** The next fetch of the partition begins here. */
  seek(partition: Partition, offset: number): void;
  /** Commits an offset to the broker, for lag monitoring only. Sent within a second; best effort. */
  commit(partition: Partition, offset: number): void;
  /** Leaves the group, once the current batch has been handled. */
  stop(): Promise<void>;
}

/** Queries the Kafka topic that is read. Every function throws UnavailableError. */
export interface LogWatch {
  /**
   * The log that the leader of a partition reads now, with its bounds: proven by a fetch where brokers can
   * fetch by id, by name otherwise. `high` is the high watermark.
   */
  fetchLog(partition: number): Promise<PartitionLog>;
  /**
   * Throws unless most brokers respond, and all that do know the topic by this id and the partition by this
   * leader. A broker that lags shows a topic that was deleted, and one that is cut off the end that a log had
   * when it was its leader.
   */
  confirmLog(partition: number, log: PartitionLog): Promise<void>;
  /** How long compaction keeps tombstones; undefined when the topic is not compacted, or unknown. */
  fetchTombstoneRetentionMs(): Promise<number | undefined>;
}

/** A partition as observed: `high` is the high watermark, so records of open transactions count. */
export interface ObservedBounds extends LogBounds {
  /**
   * The last stable offset: later records cannot be read before a transaction ends. `high` if none is open.
   */
  readonly stable: number;
}

/**
 * Observes a Kafka topic and the group that reads it, over connections of its own, so that observers do not
 * delay the sync. Every function throws UnavailableError.
 */
export interface LogObserver {
  /** With "led", partitions without a leader are left out; with "all", they are an outage. */
  fetchBounds(scope: "all" | "led"): Promise<ReadonlyMap<number, ObservedBounds>>;
  /** See LogReader, and `fetchBounds`. */
  findFirstSince(timestamp: number, scope: "all" | "led"): Promise<ReadonlyMap<number, number>>;
  /** The owner of each assigned partition: the name and address of the member's client. */
  fetchOwners(): Promise<ReadonlyMap<number, string>>;
}

export interface PartitionRecord {
  readonly partition: number;
  readonly record: LogRecord;
}

export interface ReadOptions {
  /** The first offset to read, by partition; other partitions are read from their beginning. */
  readonly from?: ReadonlyMap<number, number>;
  /** Stops reading, which then throws UnavailableError. */
  readonly abort: AbortSignal;
}

/** Offsets of a partition: from `from` up to, but not including, `to`. */
export interface OffsetRange {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** Records of a range that were fetched together. */
export interface FetchedPart {
  readonly partition: number;
  readonly records: readonly LogRecord[];
  /** The range is read up to, but not including, this offset. */
  readonly end: number;
}

/** Reads Kafka topics without a consumer group. Every function throws UnavailableError. */
export interface LogReader {
  /** The readable offsets of each partition; undefined without the Kafka topic. */
  fetchBounds(topic: string): Promise<ReadonlyMap<number, TopicBounds> | undefined>;
  /**
   * Some records from an offset on, as many as one response of the broker has; none if the log does not have
   * the offset.
   */
  fetchRecords(topic: string, from: PartitionOffset): Promise<readonly LogRecord[]>;
  /**
   * The records that exist at the time of the first `next`, in offset order within each partition. The
   * iteration may stop at any time. Throws UnavailableError also when the Kafka topic does not exist.
   */
  read(topic: string, options: ReadOptions): AsyncIterable<PartitionRecord>;
  /**
   * For each partition the offset of the first record whose timestamp is not before `timestamp` (milliseconds
   * since 1970), those of open transactions included; the log's end when there is none.
   */
  findFirstSince(topic: string, timestamp: number): Promise<ReadonlyMap<number, number>>;
  /**
   * The committed records of these ranges, of the partitions in turn. Throws UnavailableError also when some
   * of them are deleted before they are read.
   */
  readRanges(
    topic: string,
    options: { readonly ranges: readonly OffsetRange[]; readonly abort: AbortSignal },
  ): AsyncIterable<FetchedPart>;
}

export interface OutgoingRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  /** Milliseconds since 1970; undefined: the time of sending. */
  readonly timestamp: string | undefined;
  /** Undefined: chosen by the key. */
  readonly partition?: number | undefined;
}

export interface PartitionOffset {
  readonly partition: number;
  readonly offset: number;
}

/**
 * Why a topic rejects a record permanently: its size; its key, timestamp or value; or a missing right to
 * write.
 */
export interface SendRejection {
  readonly reason: "too-large" | "not-acceptable" | "denied";
  /** The broker's own words. */
  readonly message: string;
}

/** The position of a sent record, or why the topic rejects it. */
export type SendResult = PartitionOffset | { readonly rejection: SendRejection };

/** Sends records to one Kafka topic. */
export interface RecordProducer {
  /**
   * Resolves when every in-sync replica has the records, except those that are rejected; returns a result for
   * each record, in the same order. If one is rejected, records of other partitions may be written twice.
   * Throws UnavailableError when the broker does not respond: some of the records may have been written.
   */
  send(records: readonly OutgoingRecord[]): Promise<readonly SendResult[]>;
  close(): Promise<void>;
}
