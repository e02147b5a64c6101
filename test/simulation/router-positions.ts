/**
 * Where the router's group is in each partition, and what the ids of events stand for. The events topic may
 * be deleted and created again, lose its end, and have the offsets of its group set by hand or lost.
 */
import type { PartitionLog, StoredRecord, Topic } from "../simulated-servers/index.ts";
import { Violation } from "./violation.ts";

/** An offset of the group. */
interface Place {
  readonly offset: number;
  readonly epoch: number;
  /** Undefined when it was set by hand: it counts for the log that is there. */
  readonly log: PartitionLog | undefined;
  /** Where the log ended when it lost records before this offset. */
  lostFrom: number | undefined;
}

/** What the group may have committed. */
interface Candidate {
  /** Undefined without an offset. */
  readonly place: Place | undefined;
  /** When the offset was set by hand or lost; absent if a transaction committed it. */
  readonly setAt?: number;
}

/** How a transaction moves the position of a partition. */
export interface Move {
  /** When the group got the offset. */
  readonly movedAt: number;
  readonly partition: number;
  /** Undefined where brokers have no topic ids. */
  readonly topicId: string | undefined;
  readonly epoch: number;
  readonly to: number;
  /** The first offset whose copies or dead letters it has. */
  readonly first: number | undefined;
}

export interface Range {
  readonly log: PartitionLog;
  readonly from: number;
  readonly to: number;
  /** Where records were lost, it may also have begun here, with events that are forwarded nowhere. */
  readonly earliest: number;
}

export class RouterPositions {
  /** Each Kafka topic that was the events topic, by topic id, with its cluster. */
  readonly #topics = new Map<string, { readonly topic: Topic; readonly clusterId: string }>();
  #current: Topic | undefined;
  /**
   * What the group may have committed: after a change by hand, a process that has not seen it may still move
   * the former offset.
   */
  readonly #candidates = new Map<number, readonly Candidate[]>();
  readonly #cut = new Set<PartitionLog>();
  /** The logs of a mirror that nobody has said yet where to read. */
  readonly #undecided = new Set<PartitionLog>();
  #hasMoved = false;
  /** Before, a new cluster is no other one than before. */
  #hasForwarded = false;
  /** The partitions with a position that was set by hand, or lost. */
  readonly #setByHand = new Set<number>();
  readonly #named = new Map<string, { readonly log: PartitionLog; readonly record: StoredRecord }>();

  readonly #hasTopicIds: boolean;

  constructor({ hasTopicIds }: { readonly hasTopicIds: boolean }) {
    this.#hasTopicIds = hasTopicIds;
  }

  /** The events topic was created. */
  onCreated(topic: Topic, clusterId: string): void {
    this.#topics.set(topic.id, { topic, clusterId });
    this.#current = topic;
  }

  /** Another cluster has taken the place of the brokers, with these records. */
  onMoved(): void {
    this.#hasMoved = true;
    if (!this.#hasForwarded) return;
    for (const { log } of this.#current?.partitions ?? []) if (log.end > 0) this.#undecided.add(log);
  }

  get hasMoved(): boolean {
    return this.#hasMoved;
  }

  /** The events topic was deleted, and the offsets of its group with it. */
  onDeleted(at: number): void {
    for (const partition of this.#listPartitions()) this.#add(partition, undefined, at);
  }

  /**
   * Kafka has forgotten the offsets of the group: reading begins at the beginning, also of what was
   * forwarded.
   */
  onExpired(at: number): void {
    for (const partition of this.#listPartitions()) this.onSet(partition, undefined, at);
  }

  /** A person set the offset of the group, or it is lost. */
  onSet(partition: number, offset: number | undefined, setAt: number): void {
    this.#setByHand.add(partition);
    const log = offset === undefined ? undefined : this.#current?.partitions[partition]?.log;
    if (log !== undefined) this.#undecided.delete(log);
    const place =
      offset === undefined ? undefined : { offset, epoch: 1, log: undefined, lostFrom: undefined };
    this.#add(partition, place, setAt);
  }

  /** The log has lost its end. */
  onCut(partition: number, log: PartitionLog): void {
    this.#cut.add(log);
    // Nothing is left that could be read twice.
    if (log.end === 0) this.#undecided.delete(log);
    for (const { place } of this.#getCandidates(partition))
      if (place !== undefined && (place.log ?? log) === log && place.offset > log.end)
        place.lostFrom = Math.min(place.lostFrom ?? Infinity, log.end);
  }

  /** Whether an offset may be one that a person set, which says nothing of its log. */
  get mayBeSetByHand(): boolean {
    return [...this.#candidates.values()]
      .flat()
      .some(({ place }) => place !== undefined && place.log === undefined);
  }

  /**
   * Whether somebody has moved an offset and no transaction followed: processes hear of it with the next
   * record.
   */
  get isMovedByHand(): boolean {
    return [...this.#candidates.values()].flat().some(({ setAt }) => setAt !== undefined);
  }

  get hasCuts(): boolean {
    return this.#cut.size > 0;
  }

  wasCut(log: PartitionLog): boolean {
    return this.#cut.has(log);
  }

  /** Whether the group has not reached the end of the partition's log. */
  isBehind(partition: number, log: PartitionLog): boolean {
    const place = this.#getCandidates(partition).at(-1)?.place;
    // Nothing was written to another cluster yet: the position stays, because the settings may be wrong.
    if (log.end === 0 && this.#findCluster(place?.log) !== this.#findCluster(log)) return false;
    // A position is first stored with a record.
    return (place?.log ?? log) !== log || (place?.offset ?? log.low) < log.end;
  }

  describe(partition: number): string {
    const place = this.#getCandidates(partition).at(-1)?.place;
    return place === undefined
      ? "nowhere"
      : `${place.offset} of log ${place.log?.id ?? "any"}, epoch ${place.epoch}`;
  }

  /**
   * A transaction moves the position. `check` is called with the records that it may be about, and throws a
   * Violation if it is not. Returns what `check` returned; throws if that never happened.
   */
  move<T>(move: Move, check: (range: Range) => T): readonly T[] {
    const log = this.#findLog(move);
    if (this.#undecided.has(log))
      throw new Violation(
        `the position of partition ${move.partition} moves in another cluster, which nobody decided`,
      );
    this.#hasForwarded = true;
    const results: T[] = [];
    let first: unknown;
    for (const { place } of this.#getCandidates(move.partition))
      try {
        const from = findStart(place, move, log);
        const earliest = place?.log === log ? Math.min(from, place.lostFrom ?? from) : from;
        results.push(check({ log, from, to: move.to, earliest }));
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        first ??= error;
      }
    if (results.length === 0) throw first;
    const lostFrom = this.#cut.has(log) && move.to > log.end ? log.end : undefined;
    // What is set or lost after the group got the offset counts, and not what the transaction commits.
    const later = this.#getCandidates(move.partition).filter(
      ({ setAt = -Infinity }) => setAt >= move.movedAt,
    );
    const committed = { place: { offset: move.to, epoch: move.epoch, log, lostFrom } };
    this.#candidates.set(move.partition, [committed, ...later]);
    return results;
  }

  /** An id stands for a record from now on. Throws a Violation if it stands for another one. */
  name(id: string, partition: number, log: PartitionLog, record: StoredRecord): void {
    const known = this.#named.get(id);
    this.#named.set(id, { log, record });
    if (known === undefined || known.record === record) return;
    // What is written where records were lost is not recognised when a position before them was set by hand.
    if (known.log === log && this.#cut.has(log) && this.#setByHand.has(partition)) return;
    throw new Violation(
      `the id ${id} is used for a record of log ${log.id}, and for one of log ${known.log.id}`,
    );
  }

  /** Also those whose first transaction is open. */
  #listPartitions(): ReadonlySet<number> {
    return new Set([
      ...this.#candidates.keys(),
      ...(this.#current?.partitions ?? []).map(({ partition }) => partition),
    ]);
  }

  #getCandidates(partition: number): readonly Candidate[] {
    return this.#candidates.get(partition) ?? [{ place: undefined }];
  }

  #add(partition: number, place: Place | undefined, setAt: number): void {
    this.#candidates.set(partition, [...this.#getCandidates(partition), { place, setAt }]);
  }

  #findCluster(log: PartitionLog | undefined): string | undefined {
    return [...this.#topics.values()].find(({ topic }) => topic.partitions.some((one) => one.log === log))
      ?.clusterId;
  }

  #findLog({ partition, topicId }: Move): PartitionLog {
    if (topicId === undefined && this.#hasTopicIds)
      throw new Violation(`the position of partition ${partition} names no log`);
    const topic = topicId === undefined ? this.#current : this.#topics.get(topicId)?.topic;
    const log = topic?.partitions[partition]?.log;
    if (log === undefined)
      throw new Violation(`a position names the log ${topicId ?? ""}, which there never was`);
    return log;
  }
}

/** The offset from which records have to be forwarded. Throws a Violation. */
function findStart(
  place: Place | undefined,
  { partition, epoch, to, first }: Move,
  log: PartitionLog,
): number {
  if (place === undefined) return 0;
  const at = `the position of partition ${partition}, ${place.offset} in epoch ${place.epoch},`;
  if (place.log !== undefined && place.log !== log) {
    if (log.id < place.log.id) throw new Violation(`${at} moves to a log that was replaced`);
    if (epoch <= place.epoch) throw new Violation(`${at} moves to another log in epoch ${epoch}`);
    return 0;
  }
  if (epoch < place.epoch) throw new Violation(`${at} moves back to epoch ${epoch}`);
  const { offset, lostFrom = offset } = place;
  // Reading continues at the end that the log had when that was noticed.
  const from = Math.max(lostFrom, Math.min(offset, first ?? offset, to));
  if (to < from) throw new Violation(`${at} moves back to ${to}`);
  if (from < offset && epoch === place.epoch && place.log !== undefined)
    throw new Violation(`${at} moves back to ${from}, where records were lost, without another epoch`);
  return from;
}
