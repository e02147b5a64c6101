/** The log of a partition that transactional producers write to: sequence numbers, epochs, open transactions and markers. */
import type { Message } from "kafkajs";

import { createProtocolError } from "./protocol-error.ts";

/** A transactional producer, as its requests name it. */
export interface ProducerIdentity {
  readonly producerId: number;
  readonly epoch: number;
}

export interface EgressRecord extends Pick<Message, "key" | "value" | "timestamp" | "headers"> {
  readonly topic: string;
  readonly partition: number;
}

/** The part of a transaction in one partition. */
interface TransactionPart {
  state: "open" | "committed" | "aborted";
  readonly records: EgressRecord[];
}

interface ProducerState {
  epoch: number;
  /** The last batches, oldest first, by which repetitions are recognised. */
  batches: { readonly first: number; readonly last: number; readonly offset: number }[];
  open: TransactionPart | undefined;
}

export interface EgressLog {
  readonly topic: string;
  readonly partition: number;
  /** Adds a batch; returns the offset of its first record. Throws errors of Kafka's protocol. */
  readonly append: (
    producer: ProducerIdentity,
    firstSequence: number,
    messages: readonly Message[],
    checkTransaction: () => void,
  ) => number;
  /** Ends the transaction of a producer. */
  readonly mark: (producer: ProducerIdentity, commit: boolean) => void;
  readonly getOpenRecords: (producerId: number) => readonly EgressRecord[];
  /** What a reader with `read_committed` is delivered, in order. */
  readonly readCommitted: () => readonly EgressRecord[];
  readonly hasOpenTransaction: () => boolean;
}

/** As many as a broker keeps for each producer. */
const maxBatchesKept = 5;

export function createEgressLog(topic: string, partition: number, maxBatchBytes: number): EgressLog {
  const entries: { readonly record: EgressRecord | undefined; readonly part: TransactionPart }[] = [];
  const producers = new Map<number, ProducerState>();

  function getState(producerId: number): ProducerState {
    const state = producers.get(producerId) ?? { epoch: -1, batches: [], open: undefined };
    producers.set(producerId, state);
    return state;
  }

  return {
    topic,
    partition,
    append({ producerId, epoch }, firstSequence, messages, checkTransaction) {
      const state = getState(producerId);
      if (epoch < state.epoch) throw createProtocolError("INVALID_PRODUCER_EPOCH");
      if (state.open === undefined) checkTransaction();
      const last = firstSequence + messages.length - 1;
      if (epoch === state.epoch) {
        const same = state.batches.find((batch) => batch.first === firstSequence && batch.last === last);
        if (same !== undefined) return same.offset;
      }
      const expected = epoch === state.epoch ? (state.batches.at(-1)?.last ?? -1) + 1 : 0;
      if (firstSequence !== expected) throw createProtocolError("OUT_OF_ORDER_SEQUENCE_NUMBER");
      if (measureBatch(messages) > maxBatchBytes) throw createProtocolError("MESSAGE_TOO_LARGE");
      if (epoch > state.epoch) {
        state.epoch = epoch;
        state.batches = [];
      }
      const offset = entries.length;
      state.batches = [...state.batches, { first: firstSequence, last, offset }].slice(-maxBatchesKept);
      const part = (state.open ??= { state: "open", records: [] });
      for (const { key = null, value, timestamp, headers } of messages) {
        const record: EgressRecord = {
          topic,
          partition,
          key,
          value,
          ...(timestamp === undefined ? {} : { timestamp }),
          ...(headers === undefined ? {} : { headers }),
        };
        part.records.push(record);
        entries.push({ record, part });
      }
      return offset;
    },
    mark({ producerId, epoch }, commit) {
      const state = getState(producerId);
      if (epoch > state.epoch) {
        state.epoch = epoch;
        state.batches = [];
      }
      if (state.open === undefined) return;
      state.open.state = commit ? "committed" : "aborted";
      entries.push({ record: undefined, part: state.open });
      state.open = undefined;
    },
    getOpenRecords: (producerId) => producers.get(producerId)?.open?.records ?? [],
    readCommitted() {
      const firstOpen = entries.findIndex(({ part }) => part.state === "open");
      const stable = firstOpen === -1 ? entries : entries.slice(0, firstOpen);
      return stable.flatMap(({ record, part }) =>
        record !== undefined && part.state === "committed" ? [record] : [],
      );
    },
    hasOpenTransaction: () => entries.some(({ part }) => part.state === "open"),
  };
}

/** About what a batch takes; its records count as much when they are sent one by one. */
function measureBatch(messages: readonly Message[]): number {
  let bytes = 0;
  for (const { value } of messages) bytes += value?.length ?? 0;
  return bytes;
}
