/** The coordinator of transactions. */
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import { codes } from "./errors.ts";
import type { PartitionLog, ProducerIdentity } from "./log.ts";
import type { StoredRecord } from "./log-batches.ts";
import type { CommittedOffset, GroupOffsets } from "./offsets.ts";
import { toKey } from "./requests.ts";
import type { Partition } from "./topics.ts";

/** A record of a transaction, and where it is. */
export interface WrittenRecord extends StoredRecord {
  readonly log: PartitionLog;
  readonly topic: string;
  readonly partition: number;
}

export interface DecidedTransaction {
  readonly transactionalId: string;
  readonly commit: boolean;
  /** The process that began it. */
  readonly process: Host;
  readonly beganAt: number;
  /** When the group got the offsets; when it began if that never happened. */
  readonly movedAt: number;
  readonly records: readonly WrittenRecord[];
  /** By `topic-partition`. */
  readonly offsets: ReadonlyMap<string, CommittedOffset>;
}

interface TransactionalProducer {
  readonly transactionalId: string;
  readonly producerId: number;
  epoch: number;
  state: "empty" | "ongoing" | "completing" | "complete";
  isCommitted: boolean;
  timeoutMs: number;
  process: Host;
  beganAt: number;
  movedAt: number;
  /** Numbers the transactions. */
  begun: number;
  /** The partitions that were announced, by `topic-partition`. */
  readonly announced: Map<string, PartitionName>;
  /**
   * Where its records begin in each log. One of a deleted topic may have an earlier transaction, too, which
   * gets no marker.
   */
  readonly written: Map<Partition, number>;
  readonly groups: Set<string>;
}

export interface PartitionName {
  readonly topic: string;
  readonly partition: number;
}

export interface Identity extends ProducerIdentity {
  readonly transactionalId: string;
}

export interface TransactionOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly verifies?: boolean;
  /** The host of the coordinator. */
  readonly getHost: () => Host;
  readonly getOffsets: (groupId: string) => GroupOffsets;
  /** Called when the outcome of a transaction is decided, before anybody can see it. */
  readonly onDecided: (transaction: DecidedTransaction) => void;
  /** Writes a marker to the log that the leader has by then. */
  readonly mark: (partition: PartitionName, producer: ProducerIdentity, commit: boolean) => void;
}

export interface Initialised extends ProducerIdentity {
  readonly error: number;
}

export class TransactionCoordinator {
  readonly #options: TransactionOptions;
  /** Since Kafka 3.6 partitions and groups ask the coordinator before a transaction begins in them. */
  readonly #verifies: boolean;
  /** The most that a transaction may last, whatever its producer asks for; some worlds see that often. */
  readonly #maxTimeoutMs: number;
  readonly #producers = new Map<string, TransactionalProducer>();
  #nextProducerId = 1_000;
  /** No marker is written before. */
  #markersFrom = 0;
  /** When the groups have taken over all offsets that are committed. */
  #settlesAt = 0;

  constructor(options: TransactionOptions) {
    const { random } = options;
    this.#options = options;
    this.#verifies = options.verifies ?? random.chance(0.6);
    this.#maxTimeoutMs = random.pick([Infinity, Infinity, 4_000]);
  }

  createProducerId(): number {
    return this.#nextProducerId++;
  }

  initialise(transactionalId: string, timeoutMs: number, process: Host): Initialised {
    const fail = (error: number): Initialised => ({ error, producerId: -1, producerEpoch: -1 });
    let producer = this.#producers.get(transactionalId);
    if (producer === undefined) {
      producer = {
        transactionalId,
        producerId: this.#nextProducerId++,
        epoch: -1,
        state: "empty",
        isCommitted: false,
        timeoutMs,
        process,
        beganAt: 0,
        movedAt: 0,
        begun: 0,
        announced: new Map(),
        written: new Map(),
        groups: new Set(),
      };
      this.#producers.set(transactionalId, producer);
    }
    if (producer.state === "ongoing") {
      producer.epoch += 1;
      this.#decide(producer, false);
    }
    if (producer.state === "completing") return fail(codes.concurrentTransactions);
    producer.epoch += 1;
    producer.state = "empty";
    producer.timeoutMs = timeoutMs;
    return { error: codes.none, producerId: producer.producerId, producerEpoch: producer.epoch };
  }

  addPartitions(identity: Identity, partitions: readonly PartitionName[], process: Host): number {
    const { error, producer } = this.#find(identity);
    if (producer === undefined) return error;
    const begun = this.#begin(producer, process);
    if (begun === codes.none)
      for (const one of partitions) producer.announced.set(toKey(one.topic, one.partition), one);
    return begun;
  }

  addOffsets(identity: Identity, groupId: string, process: Host): number {
    const { error, producer } = this.#find(identity);
    if (producer === undefined) return error;
    const begun = this.#begin(producer, process);
    if (begun === codes.none) producer.groups.add(groupId);
    return begun;
  }

  /** Adds offsets to a transaction. */
  commitOffsets(identity: Identity, groupId: string, offsets: ReadonlyMap<string, CommittedOffset>): number {
    const { producerId, producerEpoch } = identity;
    const ofGroup = this.#options.getOffsets(groupId);
    if (producerEpoch < ofGroup.getEpoch(producerId)) return codes.invalidProducerEpoch;
    if (ofGroup.getOpen(producerId) === undefined && this.#verifies) {
      const { error, producer } = this.#find(identity);
      if (producer === undefined) return error;
      if (producer.state !== "ongoing" || !producer.groups.has(groupId)) return codes.invalidTransactionState;
    }
    ofGroup.add(producerId, producerEpoch, offsets);
    const producer = this.#producers.get(identity.transactionalId);
    if (producer !== undefined) producer.movedAt = this.#getTime();
    return codes.none;
  }

  /** Ends a transaction. Its markers are written later. */
  end(identity: Identity, commit: boolean): number {
    const { error, producer } = this.#find(identity);
    if (producer === undefined) return error;
    if (producer.state === "completing") return codes.concurrentTransactions;
    if (producer.state === "complete" && producer.isCommitted === commit) return codes.none;
    if (producer.state !== "ongoing") return codes.invalidTransactionState;
    this.#decide(producer, commit);
    return codes.none;
  }

  /** Whether a transaction may begin in a partition: an error code. */
  verify(identity: Identity, { topic, partition }: PartitionName): number {
    if (!this.#verifies) return codes.none;
    const { error, producer } = this.#find(identity);
    if (producer === undefined) return error;
    return producer.state === "ongoing" && producer.announced.has(toKey(topic, partition))
      ? codes.none
      : codes.invalidTransactionState;
  }

  onWritten(
    { transactionalId, producerId, producerEpoch }: Identity,
    partition: Partition,
    start: number,
  ): void {
    const producer = this.#producers.get(transactionalId);
    const isCurrent = producer?.producerId === producerId && producer.epoch === producerEpoch;
    if (isCurrent && !producer.written.has(partition)) producer.written.set(partition, start);
  }

  delayMarkers(ms: number): void {
    this.#markersFrom = this.#getTime() + ms;
  }

  #find({ transactionalId, producerId, producerEpoch }: Identity) {
    const producer = this.#producers.get(transactionalId);
    if (producer?.producerId !== producerId) return { error: codes.invalidProducerIdMapping };
    if (producer.epoch !== producerEpoch) return { error: codes.invalidProducerEpoch };
    return { error: codes.none, producer };
  }

  #begin(producer: TransactionalProducer, process: Host): number {
    if (producer.state === "completing") return codes.concurrentTransactions;
    if (producer.state === "ongoing") return codes.none;
    producer.state = "ongoing";
    producer.process = process;
    producer.beganAt = this.#getTime();
    producer.movedAt = this.#getTime();
    producer.begun += 1;
    producer.announced.clear();
    producer.written.clear();
    producer.groups.clear();
    const { begun } = producer;
    this.#schedule(Math.min(producer.timeoutMs, this.#maxTimeoutMs), () => {
      if (producer.state !== "ongoing" || producer.begun !== begun) return;
      producer.epoch += 1;
      this.#decide(producer, false);
    });
    return codes.none;
  }

  #decide(producer: TransactionalProducer, commit: boolean): void {
    const { transactionalId, producerId, epoch, process, beganAt, movedAt, announced, written, groups } =
      producer;
    producer.state = "completing";
    producer.isCommitted = commit;
    this.#options.onDecided({
      transactionalId,
      commit,
      process,
      beganAt,
      movedAt,
      records: [...written].flatMap(([{ topic, partition, log }, start]) =>
        log
          .readOpen(producerId)
          .filter(({ offset }) => offset >= start)
          .map((record) => ({ ...record, log, topic, partition })),
      ),
      offsets: new Map(
        [...groups].flatMap((id) => [...(this.#options.getOffsets(id).getOpen(producerId) ?? [])]),
      ),
    });
    const marks = [...announced.values()].map((partition) => () => {
      this.#options.mark(partition, { producerId, producerEpoch: epoch }, commit);
    });
    for (const id of groups)
      marks.push(() => {
        this.#markOffsets(id, { producerId, producerEpoch: epoch }, commit);
      });
    let left = marks.length;
    if (left === 0) producer.state = "complete";
    const write = (mark: () => void): void => {
      if (this.#getTime() < this.#markersFrom) {
        this.#schedule(this.#markersFrom - this.#getTime(), () => {
          write(mark);
        });
        return;
      }
      mark();
      left -= 1;
      if (left === 0) producer.state = "complete";
    };
    for (const mark of marks)
      this.#schedule(this.#options.random.between(0, this.#options.random.chance(0.8) ? 6 : 300), () => {
        write(mark);
      });
  }

  /** As in Kafka, the group takes over what a marker commits some time after the marker counts as written. */
  #markOffsets(groupId: string, { producerId, producerEpoch }: ProducerIdentity, commit: boolean): void {
    const take = this.#options.getOffsets(groupId).mark(producerId, producerEpoch, commit);
    if (take === undefined) return;
    this.#settlesAt = Math.max(this.#settlesAt, this.#getTime() + this.#options.random.between(0, 30));
    this.#schedule(this.#settlesAt - this.#getTime(), take);
  }

  #getTime(): number {
    return this.#options.clock.getTime();
  }

  /** Does something later on the host that is the coordinator now. */
  #schedule(delayMs: number, action: () => void): void {
    this.#options.clock.schedule(this.#options.getHost(), delayMs, action);
  }
}
