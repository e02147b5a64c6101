/** The coordinator of transactions, the group's offsets that they commit, and the Kafka topics that they write to. */
import type { Message } from "kafkajs";

import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import { createEgressLog, type EgressLog, type EgressRecord, type ProducerIdentity } from "./egress-log.ts";
import { createProtocolError } from "./protocol-error.ts";

export interface CoordinatorOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly host: Host;
  /** Called when the outcome of a transaction is decided, before anybody can see it. */
  readonly onDecided: (transaction: DecidedTransaction) => void;
}

export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string;
}

export interface DecidedTransaction {
  readonly transactionalId: string;
  readonly commit: boolean;
  /** The process that began it. */
  readonly process: Host;
  readonly beganAt: number;
  readonly records: readonly EgressRecord[];
  /** By `topic-partition`. */
  readonly offsets: ReadonlyMap<string, CommittedOffset>;
}

/** The name of a transaction, as requests carry it. */
export interface TransactionIdentity extends ProducerIdentity {
  readonly transactionalId: string;
}

export interface EgressTopic {
  readonly name: string;
  readonly logs: readonly EgressLog[];
}

interface CoordinatedProducer {
  readonly transactionalId: string;
  readonly producerId: number;
  epoch: number;
  state: "empty" | "ongoing" | "completing" | "complete";
  isCommitted: boolean;
  process: Host;
  beganAt: number;
  /** Numbers the transactions. */
  begun: number;
  logs: Set<EgressLog>;
  hasOffsets: boolean;
}

/** The partition of the group's offsets, as a log of its own. */
interface PendingOffsets {
  epoch: number;
  open: Map<string, CommittedOffset> | undefined;
}

export type Coordinator = ReturnType<typeof createCoordinator>;

export function createCoordinator({ clock, random, host, onDecided }: CoordinatorOptions) {
  /** Since Kafka 3.6 partitions ask the coordinator before a transaction begins in them. */
  const verifies = random.chance(0.6);
  /** Brokers end transactions after the producer's own timeout, a minute; some worlds see that more often. */
  const timeoutMs = random.pick([60_000, 60_000, 4_000]);
  const producers = new Map<string, CoordinatedProducer>();
  const topics = new Map<string, EgressTopic>();
  const committed = new Map<string, CommittedOffset>();
  const pending = new Map<number, PendingOffsets>();
  const settling = new Set<ReadonlyMap<string, CommittedOffset>>();
  let settlesAt = 0;
  let nextProducerId = 1_000;
  let upAt = 0;
  let availableAt = 0;
  let markersFrom = 0;

  function requireAvailable(): void {
    requireUp();
    if (clock.getTime() < availableAt)
      throw createProtocolError(
        random.pick([
          "GROUP_COORDINATOR_NOT_AVAILABLE",
          "NOT_COORDINATOR_FOR_GROUP",
          "GROUP_LOAD_IN_PROGRESS",
        ]),
      );
  }

  function requireUp(): void {
    if (clock.getTime() < upAt) throw new BrokerUnreachableError();
  }

  function find({ transactionalId, producerId, epoch }: TransactionIdentity): CoordinatedProducer {
    const producer = producers.get(transactionalId);
    if (producer?.producerId !== producerId) throw createProtocolError("INVALID_PRODUCER_ID_MAPPING");
    if (producer.epoch !== epoch) throw createProtocolError("INVALID_PRODUCER_EPOCH");
    return producer;
  }

  const getPending = (producerId: number): PendingOffsets => {
    const state = pending.get(producerId) ?? { epoch: -1, open: undefined };
    pending.set(producerId, state);
    return state;
  };

  function begin(producer: CoordinatedProducer, process: Host): void {
    if (producer.state === "completing") throw createProtocolError("CONCURRENT_TRANSACTIONS");
    if (producer.state === "ongoing") return;
    producer.state = "ongoing";
    producer.process = process;
    producer.beganAt = clock.getTime();
    producer.begun += 1;
    producer.logs = new Set();
    producer.hasOffsets = false;
    const { begun } = producer;
    clock.schedule(host, timeoutMs, () => {
      if (producer.state !== "ongoing" || producer.begun !== begun) return;
      producer.epoch += 1;
      decide(producer, false);
    });
  }

  function decide(producer: CoordinatedProducer, commit: boolean): void {
    const { transactionalId, producerId, process, beganAt, logs, hasOffsets } = producer;
    producer.state = "completing";
    producer.isCommitted = commit;
    const records = [...logs].flatMap((log) => log.getOpenRecords(producerId));
    onDecided({
      transactionalId,
      commit,
      process,
      beganAt,
      records,
      offsets: pending.get(producerId)?.open ?? new Map<string, CommittedOffset>(),
    });
    const identity = { producerId, epoch: producer.epoch };
    const markers = [...logs].map((log) => () => {
      log.mark(identity, commit);
    });
    if (hasOffsets)
      markers.push(() => {
        markOffsets(identity, commit);
      });
    let left = markers.length;
    const writeMarker = (mark: () => void): void => {
      if (clock.getTime() < Math.max(markersFrom, upAt)) {
        clock.schedule(host, Math.max(markersFrom, upAt) - clock.getTime(), () => {
          writeMarker(mark);
        });
        return;
      }
      mark();
      left -= 1;
      if (left === 0) producer.state = "complete";
    };
    for (const mark of markers)
      clock.schedule(host, random.chance(0.8) ? random.between(0, 6) : random.between(0, 300), () => {
        writeMarker(mark);
      });
    if (left === 0) producer.state = "complete";
  }

  function markOffsets({ producerId, epoch }: ProducerIdentity, commit: boolean): void {
    const state = getPending(producerId);
    state.epoch = Math.max(state.epoch, epoch);
    const { open } = state;
    state.open = undefined;
    if (open === undefined) return;
    // As in Kafka, the group takes over what a marker commits some time after the marker counts as written.
    settling.add(open);
    settlesAt = Math.max(settlesAt, clock.getTime() + ((clock.getTime() * 7) % 30));
    clock.schedule(host, settlesAt - clock.getTime(), () => {
      settling.delete(open);
      if (commit) for (const [key, offset] of open) committed.set(key, offset);
    });
  }

  return {
    host,
    requireUp,

    /** Fences the producers of this id, and ends the transaction that they left open. */
    initialise(transactionalId: string, process: Host): ProducerIdentity {
      requireAvailable();
      const producer = producers.get(transactionalId);
      if (producer === undefined) {
        const producerId = nextProducerId++;
        producers.set(transactionalId, {
          transactionalId,
          producerId,
          epoch: 0,
          state: "empty",
          isCommitted: false,
          process,
          beganAt: 0,
          begun: 0,
          logs: new Set(),
          hasOffsets: false,
        });
        return { producerId, epoch: 0 };
      }
      if (producer.state === "ongoing") {
        producer.epoch += 1;
        decide(producer, false);
      }
      if (producer.state === "completing") throw createProtocolError("CONCURRENT_TRANSACTIONS");
      producer.epoch += 1;
      producer.state = "empty";
      return { producerId: producer.producerId, epoch: producer.epoch };
    },

    addPartitions(
      identity: TransactionIdentity,
      partitions: readonly EgressPartition[],
      process: Host,
    ): void {
      requireAvailable();
      const producer = find(identity);
      const logs = partitions.map(({ topic, partition }) => topics.get(topic)?.logs[partition]);
      begin(producer, process);
      for (const log of logs) {
        if (log === undefined) throw createProtocolError("UNKNOWN_TOPIC_OR_PARTITION");
        producer.logs.add(log);
      }
    },

    addOffsets(identity: TransactionIdentity, process: Host): void {
      requireAvailable();
      const producer = find(identity);
      begin(producer, process);
      producer.hasOffsets = true;
    },

    /** Adds offsets to the transaction. */
    commitOffsets(identity: TransactionIdentity, offsets: ReadonlyMap<string, CommittedOffset>): void {
      requireAvailable();
      const state = getPending(identity.producerId);
      if (identity.epoch < state.epoch) throw createProtocolError("INVALID_PRODUCER_EPOCH");
      if (state.open === undefined && verifies) {
        const { state: own, hasOffsets } = find(identity);
        if (own !== "ongoing" || !hasOffsets) throw createProtocolError("INVALID_TXN_STATE");
      }
      state.epoch = identity.epoch;
      state.open ??= new Map<string, CommittedOffset>();
      for (const [key, offset] of offsets) state.open.set(key, offset);
    },

    /** Ends a transaction. Its markers are written later. */
    end(identity: TransactionIdentity, commit: boolean): void {
      requireAvailable();
      const producer = find(identity);
      if (producer.state === "completing") throw createProtocolError("CONCURRENT_TRANSACTIONS");
      if (producer.state === "complete" && producer.isCommitted === commit) return;
      if (producer.state !== "ongoing") throw createProtocolError("INVALID_TXN_STATE");
      decide(producer, commit);
    },

    /** Adds a batch to a log; returns its offset. */
    produce(
      identity: TransactionIdentity,
      log: EgressLog,
      sequence: number,
      messages: readonly Message[],
    ): number {
      return log.append(identity, sequence, messages, () => {
        if (!verifies) return;
        const producer = find(identity);
        if (producer.state !== "ongoing" || !producer.logs.has(log))
          throw createProtocolError("INVALID_TXN_STATE");
      });
    },

    fetchOffset(key: string, requireStable: boolean): CommittedOffset {
      requireAvailable();
      const isPending =
        [...pending.values()].some(({ open }) => open?.has(key) === true) ||
        [...settling].some((offsets) => offsets.has(key));
      if (requireStable && isPending) throw createProtocolError("UNSTABLE_OFFSET_COMMIT");
      return committed.get(key) ?? { offset: -1, metadata: "" };
    },

    topics,
    /** Creates a Kafka topic; one that was deleted is a new one. */
    createTopic(name: string, partitions: number, maxBatchBytes: number): EgressTopic {
      const logs = Array.from({ length: partitions }, (_, partition) =>
        createEgressLog(name, partition, maxBatchBytes),
      );
      const topic = { name, logs };
      topics.set(name, topic);
      return topic;
    },

    goDown(ms: number): void {
      upAt = clock.getTime() + ms;
    },
    beUnavailable(ms: number): void {
      availableAt = clock.getTime() + ms;
    },
    delayMarkers(ms: number): void {
      markersFrom = clock.getTime() + ms;
    },
  };
}

export interface EgressPartition {
  readonly topic: string;
  readonly partition: number;
}

/** Connections to the broker are refused. */
export class BrokerUnreachableError extends Error {}
