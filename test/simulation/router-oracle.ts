/**
 * What the router has to have done whenever it commits a transaction: each event between the two offsets is
 * forwarded to each topic that matches it, exactly once, or is a dead letter that says why not.
 */
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import type { RoutedBatch } from "../../src/routing/tally.ts";
import type {
  DecidedTransaction,
  Host,
  PartitionLog,
  StoredRecord,
  WrittenRecord,
} from "../simulated-servers/index.ts";
import { getText, parseEvent } from "./router-copies.ts";
import {
  EventCheck,
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

/** Checks what processes commit and report. */
export class RouterOracle {
  readonly #options: RouterOracleOptions;
  readonly #eventCheck: EventCheck;
  /** What each process was sent, by log and offset. */
  readonly #delivered = new Map<Host, Map<string, Delivered[]>>();
  readonly #forwarded: WrittenRecord[] = [];
  /** The batches that a process has stored and not reported: for each, what it may have been. */
  readonly #unreported = new Map<Host, (readonly StoredBatch[])[]>();
  #checks = 0;

  constructor(options: RouterOracleOptions) {
    this.#options = options;
    this.#eventCheck = new EventCheck(options);
  }

  onDelivered(process: Host, log: PartitionLog, records: readonly StoredRecord[]): void {
    const ofProcess = this.#delivered.get(process) ?? new Map<string, Delivered[]>();
    this.#delivered.set(process, ofProcess);
    const known = this.#options.topics.recordKnowledge();
    for (const record of records) {
      const place = toPlace(log, record.offset);
      ofProcess.set(place, [...(ofProcess.get(place) ?? []), { record, at: this.#options.getTime(), known }]);
    }
  }

  /** Checks a transaction whose outcome is decided. */
  onDecided(transaction: DecidedTransaction): void {
    if (!transaction.commit) return;
    const move = this.#parseMove(transaction);
    const stored = this.#options.positions.move(move, (range) => this.#checkRange(transaction, move, range));
    const { process } = transaction;
    this.#unreported.set(process, [...(this.#unreported.get(process) ?? []), stored]);
    this.#checkOrder(transaction.records);
    this.#forwarded.push(...transaction.records);
  }

  onReported(process: Host, { events }: RoutedBatch): void {
    const reported = events.map(({ id }) => id);
    if (reported.length === 0) return;
    const waiting = this.#unreported.get(process) ?? [];
    const byOffset = (a: string, b: string): number => this.#parseId(a).offset - this.#parseId(b).offset;
    const isReported = ({ certain, possible }: StoredBatch): boolean =>
      [...certain, ...reported.filter((id) => possible.has(id))].toSorted(byOffset).join() ===
      reported.join();
    const at = waiting.findIndex((batches) => batches.some(isReported));
    if (at === -1) throw new Violation(`a batch reported as stored with other contents: ${reported.join()}`);
    waiting.splice(at, 1);
  }

  /**
   * Checks what readers of the Kafka topics that exist are delivered: each committed record once, and no
   * other.
   */
  checkFinal(logs: readonly PartitionLog[]): void {
    for (const log of logs) {
      const read = log.readAll();
      const expected = this.#forwarded
        .filter((record) => record.log === log)
        .toSorted((one, other) => one.offset - other.offset);
      const missing = expected.find((record, index) => read[index]?.offset !== record.offset);
      if (missing !== undefined || read.length !== expected.length)
        throw new Violation(
          `readers are delivered ${read.length} records of a log, of ${expected.length} that were committed`,
        );
    }
  }

  countChecks() {
    return this.#checks;
  }

  describe(): string {
    return this.#forwarded
      .map((record) => `${record.topic}-${record.partition} ${this.#getEventId(record)}`)
      .join();
  }

  #toName(partition: number, offset: number, epoch: number): EventName {
    return {
      ...{ partition, offset, epoch },
      id: `${this.#options.topic}-${partition}-${offset}${epoch === 1 ? "" : `-${epoch}`}`,
    };
  }

  #parseId(id: string): EventName {
    const match = /^-(\d+)-(\d+)(?:-(\d+))?$/.exec(id.slice(this.#options.topic.length));
    if (!id.startsWith(this.#options.topic) || match === null)
      throw new Violation(`"${id}" is not the id of an event`);
    return { id, partition: Number(match[1]), offset: Number(match[2]), epoch: Number(match[3] ?? 1) };
  }

  /** The deliveries of a record to a process before a transaction began, the last one first. */
  #listDeliveries(
    { process, beganAt }: Pick<DecidedTransaction, "process" | "beganAt">,
    log: PartitionLog,
    offset: number,
  ): readonly Delivered[] {
    return (this.#delivered.get(process)?.get(toPlace(log, offset)) ?? [])
      .filter(({ at }) => at <= beganAt)
      .toReversed();
  }

  /**
   * A process may still handle what it was sent before a repetition. Returns the delivery that explains the
   * outcome.
   */
  #checkByAny(name: EventName, deliveries: readonly Delivered[], outcome: Outcome): Delivered {
    let first = new Violation(`${name.id} is passed over, and was not fetched`);
    for (const [index, delivery] of deliveries.entries())
      try {
        this.#eventCheck.check(name, delivery, outcome);
        return delivery;
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        if (index === 0) first = error;
      }
    throw first;
  }

  /** Checks that events of one partition are in their order, except among dead letters. */
  #checkOrder(records: readonly WrittenRecord[]): void {
    const last = new Map<string, number>();
    for (const record of records) {
      const { partition, offset, epoch } = this.#parseId(this.#getEventId(record));
      if (record.topic === this.#options.deadLetterTopic) continue;
      const place = `${record.topic}-${record.partition} of ${partition} in ${epoch}`;
      if (offset < (last.get(place) ?? -1))
        throw new Violation(`${record.topic}: ${this.#getEventId(record)} is out of order`);
      last.set(place, offset);
    }
  }

  #getEventId(record: WrittenRecord): string {
    return (
      getText(
        record,
        record.topic === this.#options.deadLetterTopic ? deadLetterHeader.id : routedEventHeader.event,
      ) ?? ""
    );
  }

  #parseMove({ records, offsets, movedAt }: DecidedTransaction): Move {
    const [moved, ...others] = offsets;
    if (moved === undefined || others.length > 0)
      throw new Violation(`a commit moves ${offsets.size} positions`);
    const [key, { offset: to, metadata }] = moved;
    const partition = Number(/-(\d+)$/.exec(key)?.[1]);
    const { epoch = 1, topicId } = JSON.parse(metadata) as {
      readonly epoch?: number;
      readonly topicId?: string;
    };
    const offsetsOfEvents = records.map((record) => this.#parseId(this.#getEventId(record)).offset);
    const first = offsetsOfEvents.length === 0 ? undefined : Math.min(...offsetsOfEvents);
    return { movedAt, partition, topicId, epoch, to, first };
  }

  #checkRange(transaction: DecidedTransaction, { partition, epoch }: Move, range: Range): StoredBatch {
    const { log, from, to, earliest } = range;
    const byOffset = new Map<number, WrittenRecord[]>();
    for (const record of transaction.records) {
      const name = this.#parseId(this.#getEventId(record));
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
      .filter(
        (offset) =>
          !this.#options.positions.wasCut(log) || this.#listDeliveries(transaction, log, offset).length > 0,
      );
    const offsets = new Set([...readable, ...byOffset.keys()]);
    const certain: string[] = [];
    for (const offset of [...offsets].toSorted((one, other) => one - other)) {
      this.#checks += 1;
      const found = byOffset.get(offset) ?? [];
      const letters = found.filter((record) => record.topic === this.#options.deadLetterTopic);
      const copies = found.filter((record) => record.topic !== this.#options.deadLetterTopic);
      const name = this.#toName(partition, offset, epoch);
      const { record } = this.#checkByAny(name, this.#listDeliveries(transaction, log, offset), {
        copies,
        letters,
      });
      if (found.length > 0) this.#options.positions.name(name.id, partition, log, record);
      // With a list, it has its place in the batch, even if there are no copies.
      const isTooMany = letters.some(
        (one) =>
          getText(one, deadLetterHeader.code) === "TOO_MANY_TOPICS" &&
          getText(one, routedEventHeader.undelivered) === undefined,
      );
      if (parseEvent(record.value) !== undefined && !isTooMany) certain.push(name.id);
    }
    const possible = new Set<string>();
    for (let offset = earliest; offset < to; offset += 1) {
      const [delivery] = this.#listDeliveries(transaction, log, offset);
      if (!offsets.has(offset) && delivery !== undefined && parseEvent(delivery.record.value) !== undefined)
        possible.add(this.#toName(partition, offset, epoch).id);
    }
    return { certain, possible };
  }
}

const toPlace = ({ id }: PartitionLog, offset: number): string => `${id}/${offset}`;
