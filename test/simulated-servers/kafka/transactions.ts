/** The coordinator of transactions. */
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import type { Response } from "../wire/messages.ts";
import { codes } from "./errors.ts";
import type { PartitionLog, ProducerIdentity } from "./log.ts";
import type { StoredRecord } from "./log-batches.ts";
import type { CommittedOffset, GroupOffsets } from "./offsets.ts";
import { describeFailure } from "./refusals.ts";
import { toKey } from "./requests.ts";
import type { Partition } from "./topics.ts";
import {
  createProducer,
  keepSome,
  toForcedEnd,
  toStateName,
  type PartitionName,
  type TransactionalProducer,
} from "./transactional-producer.ts";

/** How often it looks for a leader that gets a marker. */
const retryMs = 100;

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
  /** Writes a marker to the log that the leader has by then. False while there is none. */
  readonly mark: (partition: PartitionName, producer: ProducerIdentity, commit: boolean) => boolean;
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
  /** What ends before lacks markers: some of all, or those of all partitions. */
  #loss = { until: 0, keepsOffsets: false };
  /** What transactions have committed or dropped already, although a group has no marker for it. */
  readonly #decided = new WeakSet<CommittedOffset>();
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
      producer = createProducer(transactionalId, { producerId: this.#nextProducerId++, timeoutMs, process });
      this.#producers.set(transactionalId, producer);
    }
    if (producer.state === "ongoing") {
      producer.epoch += 1;
      this.#decide(producer, toForcedEnd(producer));
    }
    if (producer.state === "completing") return fail(codes.concurrentTransactions);
    producer.epoch += 1;
    producer.initialisations += 1;
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
    // Where the restoration of the end was interrupted, nobody knows it any more.
    this.#decide(producer, producer.initialisations > 1 ? (producer.lostEnd ?? commit) : commit);
    return codes.none;
  }

  describe(transactionalId: string): Response<"describeTransactions0">["transactions"][number] {
    const producer = this.#producers.get(transactionalId);
    if (producer === undefined) return describeFailure(transactionalId, codes.transactionalIdNotFound);
    const { producerId, epoch, timeoutMs: timeout } = producer;
    return {
      ...{ error: codes.none, transactionalId, state: toStateName(producer) },
      ...{ timeout, startTime: -1, producerId, producerEpoch: epoch, topics: [] },
    };
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

  loseMarkers(ms: number, keepsOffsets: boolean): void {
    this.#loss = { until: this.#getTime() + ms, keepsOffsets };
  }

  /** Writes what was lost. */
  writeLostMarkers(): void {
    for (const producer of this.#producers.values())
      if (producer.state !== "ongoing") this.#writeLostMarkers(producer);
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
    // What becomes of lost markers when the producer goes on, and its next transaction is aborted, is a gap
    // that docs/reliability.md names.
    if (producer.initialisations === 0) this.#writeLostMarkers(producer);
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
      this.#decide(producer, toForcedEnd(producer));
    });
    return codes.none;
  }

  #decide(producer: TransactionalProducer, commit: boolean): void {
    producer.state = "completing";
    producer.isCommitted = commit;
    this.#tell(producer);
    const isLost = this.#getTime() < this.#loss.until && this.#hasPendingOffsets(producer);
    if (isLost && producer.lostEnd === undefined) producer.initialisations = 0;
    producer.lostEnd = isLost ? commit : undefined;
    const marks = this.#toMarks(producer, commit);
    const offsets = producer.groups.size;
    const kept = { offsets, keepsOffsets: this.#loss.keepsOffsets, random: this.#options.random };
    this.#write(isLost ? keepSome(marks, kept) : marks, () => {
      producer.state = "complete";
    });
  }

  /** Whether a missing end would be seen: offsets of the transaction were not deleted since. */
  #hasPendingOffsets({ producerId, groups }: TransactionalProducer): boolean {
    return [...groups].some((id) => {
      const offsets = this.#options.getOffsets(id);
      return [...(offsets.getOpen(producerId)?.keys() ?? [])].some((key) => offsets.isPending(key));
    });
  }

  #writeLostMarkers(producer: TransactionalProducer): void {
    if (producer.lostEnd === undefined) return;
    for (const mark of this.#toMarks(producer, producer.lostEnd))
      if (!mark()) this.#write([mark], () => undefined);
    producer.lostEnd = undefined;
  }

  #toMarks(
    { producerId, epoch: producerEpoch, announced, groups }: TransactionalProducer,
    commit: boolean,
  ): (() => boolean)[] {
    const producer = { producerId, producerEpoch };
    return [
      ...[...announced.values()].map((partition) => () => this.#options.mark(partition, producer, commit)),
      ...[...groups].map((id) => () => this.#markOffsets(id, producer, commit)),
    ];
  }

  #tell(producer: TransactionalProducer): void {
    const { transactionalId, isCommitted, producerId, process, beganAt, movedAt, written, groups } = producer;
    const records = [...written].flatMap(([{ topic, partition, log }, start]) =>
      log
        .readOpen(producerId)
        .filter(({ offset }) => offset >= start)
        .map((record) => ({ ...record, log, topic, partition })),
    );
    const offsets = [...groups]
      .flatMap((id) => [...(this.#options.getOffsets(id).getOpen(producerId) ?? [])])
      .filter(([, offset]) => !this.#decided.has(offset));
    // It only writes markers that are missing: they were lost, or are late.
    if (records.length === 0 && offsets.length === 0) return;
    for (const [, offset] of offsets) this.#decided.add(offset);
    this.#options.onDecided({
      ...{ transactionalId, commit: isCommitted, process, beganAt, movedAt, records },
      offsets: new Map(offsets),
    });
  }

  /** Writes markers some time later, one after another. */
  #write(marks: readonly (() => boolean)[], onDone: () => void): void {
    const { random } = this.#options;
    let left = marks.length;
    if (left === 0) onDone();
    const write = (mark: () => boolean): void => {
      const waitMs = this.#markersFrom - this.#getTime();
      if (waitMs > 0 || !mark()) {
        this.#schedule(waitMs > 0 ? waitMs : retryMs, () => {
          write(mark);
        });
        return;
      }
      left -= 1;
      if (left === 0) onDone();
    };
    for (const mark of marks)
      this.#schedule(random.between(0, random.chance(0.8) ? 6 : 300), () => {
        write(mark);
      });
  }

  /** As in Kafka, the group takes over what a marker commits some time after the marker counts as written. */
  #markOffsets(groupId: string, { producerId, producerEpoch }: ProducerIdentity, commit: boolean): boolean {
    const take = this.#options.getOffsets(groupId).mark(producerId, producerEpoch, commit);
    if (take === undefined) return true;
    this.#settlesAt = Math.max(this.#settlesAt, this.#getTime() + this.#options.random.between(0, 30));
    this.#schedule(this.#settlesAt - this.#getTime(), take);
    return true;
  }

  #getTime(): number {
    return this.#options.clock.getTime();
  }

  /** Does something later on the host that is the coordinator now. */
  #schedule(delayMs: number, action: () => void): void {
    this.#options.clock.schedule(this.#options.getHost(), delayMs, action);
  }
}
