/**
 * What the router has to have done whenever it commits a transaction: each event between the two offsets is
 * forwarded to each topic that matches it, exactly once, or is a dead letter that says why not.
 */
import { deadLetterHeader } from "../../schemas/dead-letter-record.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import type { RoutedBatch } from "../../src/routing/tally.ts";
import type { Host } from "./clock.ts";
import type { PartitionLog, StoredRecord } from "./cluster/log.ts";
import type { DecidedTransaction, WrittenRecord } from "./cluster/transactions.ts";
import { getText, parseEvent } from "./router-copies.ts";
import {
  createEventCheck,
  type Delivered,
  type EventCheckOptions,
  type EventName,
  type Outcome,
} from "./router-event-check.ts";
import type { Move, Range, RouterPositions } from "./router-positions.ts";
import { Violation } from "./violation.ts";

export interface RouterOracleOptions extends EventCheckOptions {
  readonly deadLetterTopic: string;
  readonly positions: RouterPositions;
}

/** A batch that a process has stored: the ids of its events. */
interface StoredBatch {
  readonly certain: readonly string[];
  /**
   * Forwarded nowhere, and deleted from the log since they were fetched: whether they are in it cannot be
   * seen.
   */
  readonly possible: ReadonlySet<string>;
}

export type RouterOracle = ReturnType<typeof createRouterOracle>;

export function createRouterOracle(options: RouterOracleOptions) {
  const { topic, getTime, topics, deadLetterTopic, positions } = options;
  const checkEvent = createEventCheck(options);
  /** What each process was sent, by log and offset. */
  const delivered = new Map<Host, Map<string, Delivered[]>>();
  const forwarded: WrittenRecord[] = [];
  /** The batches that a process has stored and not reported: for each, what it may have been. */
  const unreported = new Map<Host, (readonly StoredBatch[])[]>();
  let checks = 0;

  const toName = (partition: number, offset: number, epoch: number): EventName => ({
    ...{ partition, offset, epoch },
    id: `${topic}-${partition}-${offset}${epoch === 1 ? "" : `-${epoch}`}`,
  });

  function parseId(id: string): EventName {
    const match = /^-(\d+)-(\d+)(?:-(\d+))?$/.exec(id.slice(topic.length));
    if (!id.startsWith(topic) || match === null) throw new Violation(`"${id}" is not the id of an event`);
    return { id, partition: Number(match[1]), offset: Number(match[2]), epoch: Number(match[3] ?? 1) };
  }

  /** The deliveries of a record to a process before a transaction began, the last one first. */
  const listDeliveries = (
    { process, beganAt }: Pick<DecidedTransaction, "process" | "beganAt">,
    log: PartitionLog,
    offset: number,
  ): readonly Delivered[] =>
    (delivered.get(process)?.get(toPlace(log, offset)) ?? []).filter(({ at }) => at <= beganAt).toReversed();

  /**
   * A process may still handle what it was sent before a repetition. Returns the delivery that explains the
   * outcome.
   */
  function checkByAny(name: EventName, deliveries: readonly Delivered[], outcome: Outcome): Delivered {
    let first = new Violation(`${name.id} is passed over, and was not fetched`);
    for (const [index, delivery] of deliveries.entries())
      try {
        checkEvent(name, delivery, outcome);
        return delivery;
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        if (index === 0) first = error;
      }
    throw first;
  }

  /** Checks that events of one partition are in their order, except among dead letters. */
  function checkOrder(records: readonly WrittenRecord[]): void {
    const last = new Map<string, number>();
    for (const record of records) {
      const { partition, offset, epoch } = parseId(getEventId(record));
      if (record.topic === deadLetterTopic) continue;
      const place = `${record.topic}-${record.partition} of ${partition} in ${epoch}`;
      if (offset < (last.get(place) ?? -1))
        throw new Violation(`${record.topic}: ${getEventId(record)} is out of order`);
      last.set(place, offset);
    }
  }

  const getEventId = (record: WrittenRecord): string =>
    getText(record, record.topic === deadLetterTopic ? deadLetterHeader.id : routedEventHeader.event) ?? "";

  function parseMove({ records, offsets, movedAt }: DecidedTransaction): Move {
    const [moved, ...others] = offsets;
    if (moved === undefined || others.length > 0)
      throw new Violation(`a commit moves ${offsets.size} positions`);
    const [key, { offset: to, metadata }] = moved;
    const partition = Number(/-(\d+)$/.exec(key)?.[1]);
    const { epoch = 1, topicId } = JSON.parse(metadata) as {
      readonly epoch?: number;
      readonly topicId?: string;
    };
    const offsetsOfEvents = records.map((record) => parseId(getEventId(record)).offset);
    const first = offsetsOfEvents.length === 0 ? undefined : Math.min(...offsetsOfEvents);
    return { movedAt, partition, topicId, epoch, to, first };
  }

  function checkRange(
    transaction: DecidedTransaction,
    { partition, epoch }: Move,
    range: Range,
  ): StoredBatch {
    const { log, from, to, earliest } = range;
    const byOffset = new Map<number, WrittenRecord[]>();
    for (const record of transaction.records) {
      const name = parseId(getEventId(record));
      const isOurs = name.partition === partition && name.offset >= from && name.offset < to;
      if (!isOurs || name.epoch !== epoch)
        throw new Violation(
          `${name.id} is forwarded by a transaction from ${from} to ${to} of ${partition} in epoch ${epoch}`,
        );
      byOffset.set(name.offset, [...(byOffset.get(name.offset) ?? []), record]);
    }
    const readable = log
      .readAll()
      .map(({ offset }) => offset)
      .filter((offset) => offset >= from && offset < to)
      // What was written where records were lost may be later than what the transaction is about.
      .filter((offset) => !positions.wasCut(log) || listDeliveries(transaction, log, offset).length > 0);
    const offsets = new Set([...readable, ...byOffset.keys()]);
    const certain: string[] = [];
    for (const offset of [...offsets].toSorted((one, other) => one - other)) {
      checks += 1;
      const found = byOffset.get(offset) ?? [];
      const letters = found.filter((record) => record.topic === deadLetterTopic);
      const copies = found.filter((record) => record.topic !== deadLetterTopic);
      const name = toName(partition, offset, epoch);
      const { record } = checkByAny(name, listDeliveries(transaction, log, offset), { copies, letters });
      if (found.length > 0) positions.name(name.id, partition, log, record);
      const isTooMany = letters.some((one) => getText(one, deadLetterHeader.code) === "TOO_MANY_TOPICS");
      if (parseEvent(record.value) !== undefined && !isTooMany) certain.push(name.id);
    }
    const possible = new Set<string>();
    for (let offset = earliest; offset < to; offset += 1) {
      const [delivery] = listDeliveries(transaction, log, offset);
      if (!offsets.has(offset) && delivery !== undefined && parseEvent(delivery.record.value) !== undefined)
        possible.add(toName(partition, offset, epoch).id);
    }
    return { certain, possible };
  }

  return {
    onDelivered(process: Host, log: PartitionLog, records: readonly StoredRecord[]): void {
      const ofProcess = delivered.get(process) ?? new Map<string, Delivered[]>();
      delivered.set(process, ofProcess);
      const known = topics.recordKnowledge();
      for (const record of records) {
        const place = toPlace(log, record.offset);
        ofProcess.set(place, [...(ofProcess.get(place) ?? []), { record, at: getTime(), known }]);
      }
    },

    /** Checks a transaction whose outcome is decided. */
    onDecided(transaction: DecidedTransaction): void {
      if (!transaction.commit) return;
      const move = parseMove(transaction);
      const stored = positions.move(move, (range) => checkRange(transaction, move, range));
      const { process } = transaction;
      unreported.set(process, [...(unreported.get(process) ?? []), stored]);
      checkOrder(transaction.records);
      forwarded.push(...transaction.records);
    },

    onReported(process: Host, { events }: RoutedBatch): void {
      const reported = events.map(({ id }) => id);
      if (reported.length === 0) return;
      const waiting = unreported.get(process) ?? [];
      const byOffset = (a: string, b: string): number => parseId(a).offset - parseId(b).offset;
      const isReported = ({ certain, possible }: StoredBatch): boolean =>
        [...certain, ...reported.filter((id) => possible.has(id))].toSorted(byOffset).join() ===
        reported.join();
      const at = waiting.findIndex((batches) => batches.some(isReported));
      if (at === -1)
        throw new Violation(`a batch reported as stored with other contents: ${reported.join()}`);
      waiting.splice(at, 1);
    },

    /**
     * Checks what readers of the Kafka topics that exist are delivered: each committed record once, and no
     * other.
     */
    checkFinal(logs: readonly PartitionLog[]): void {
      for (const log of logs) {
        const read = log.readAll();
        const expected = forwarded
          .filter((record) => record.log === log)
          .toSorted((one, other) => one.offset - other.offset);
        const missing = expected.find((record, index) => read[index]?.offset !== record.offset);
        if (missing !== undefined || read.length !== expected.length)
          throw new Violation(
            `readers are delivered ${read.length} records of a log, of ${expected.length} that were committed`,
          );
      }
    },
    countChecks: () => checks,
    describe: (): string =>
      forwarded.map((record) => `${record.topic}-${record.partition} ${getEventId(record)}`).join(),
  };
}

const toPlace = ({ id }: PartitionLog, offset: number): string => `${id}/${offset}`;
