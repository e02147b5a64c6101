/**
 * What the router has to have done whenever it commits a transaction: each event between the two offsets is forwarded to each
 * topic that matches it, exactly once, or is a dead letter that says why not.
 */
import { deadLetterHeader } from "../../schemas/dead-letter.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import type { RoutedBatch } from "../../src/routing/tally.ts";
import type { Host } from "./clock.ts";
import type { PartitionLog, StoredRecord } from "./cluster/log.ts";
import type { DecidedTransaction, WrittenRecord } from "./cluster/transactions.ts";
import { choosePartition, findChange, getCodeOfUnusable, getText, parseEvent } from "./router-copies.ts";
import type { Knowledges, RouterTopics, TopicVersion } from "./router-topics.ts";
import { Violation } from "./violation.ts";

/** Why an event cannot be forwarded to a Kafka topic. */
export type Obstacle = "NO_EGRESS_TOPIC" | "EGRESS_REJECTED";

export interface RouterOracleOptions {
  readonly topic: string;
  readonly getLog: (partition: number) => PartitionLog;
  readonly getTime: () => number;
  readonly topics: RouterTopics;
  readonly deadLetterTopic: string;
  /** Undefined: events that no topic wants are dropped. */
  readonly unmatchedTopic: string | undefined;
  readonly getEgressName: (version: TopicVersion) => string;
  /** Whether, at some time from `since` to `until`, the event could be sent, and why it could not. Empty: it can never be. */
  readonly findOutcomes: (sent: {
    readonly name: string;
    readonly bytes: number;
    readonly since: number;
    readonly until: number;
  }) => ReadonlySet<Obstacle | "sent">;
  /** How many partitions a process may have believed a Kafka topic to have. */
  readonly listCounts: (name: string, since: number, until: number) => ReadonlySet<number>;
}

/** A record as a process got it, and what that process knew then. */
interface Delivered {
  readonly record: StoredRecord;
  readonly at: number;
  readonly known: Knowledges;
}

/** A batch that a process has stored: the ids of its events. */
interface StoredBatch {
  readonly certain: readonly string[];
  /** Forwarded nowhere, and deleted from the log since they were fetched: whether they are in it cannot be seen. */
  readonly possible: ReadonlySet<string>;
}

/** What a transaction does with one event. */
interface Outcome {
  readonly copies: readonly WrittenRecord[];
  readonly letters: readonly WrittenRecord[];
}

export type RouterOracle = ReturnType<typeof createRouterOracle>;

export function createRouterOracle(options: RouterOracleOptions) {
  const {
    topic,
    getLog,
    getTime,
    topics,
    deadLetterTopic,
    unmatchedTopic,
    getEgressName,
    findOutcomes,
    listCounts,
  } = options;
  const delivered = new Map<Host, Map<string, Delivered[]>>();
  /** By partition. */
  const positions = new Map<number, number>();
  const forwarded: WrittenRecord[] = [];
  /** The batches that a process has stored and not reported. */
  const unreported = new Map<Host, StoredBatch[]>();
  let checks = 0;

  const formatId = (partition: number, offset: number): string => `${topic}-${partition}-${offset}`;

  /** The deliveries of a record to a process before a transaction began, the last one first. */
  const listDeliveries = (process: Host, id: string, beganAt: number): readonly Delivered[] =>
    (delivered.get(process)?.get(id) ?? []).filter(({ at }) => at <= beganAt).toReversed();

  const findDelivery = (process: Host, id: string, beganAt: number): Delivered | undefined =>
    listDeliveries(process, id, beganAt)[0];

  /** A process may still handle what it was sent before a repetition. */
  function checkByAny(id: string, deliveries: readonly Delivered[], outcome: Outcome): void {
    let first = new Violation(`${id} is passed over, and was not fetched`);
    for (const [index, delivery] of deliveries.entries())
      try {
        checkEvent(id, delivery, outcome);
        return;
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        if (index === 0) first = error;
      }
    throw first;
  }

  function checkEvent(id: string, { record, at, known }: Delivered, { copies, letters }: Outcome): void {
    const fail = (message: string): never => {
      throw new Violation(`${id}: ${message}`);
    };
    if (letters.length > 1) fail("has more than one dead letter");
    const [letter] = letters;
    const content = parseEvent(record.value);
    if (content === undefined) {
      if (copies.length > 0) fail("is no event, and was forwarded");
      if (letter === undefined) return fail("is no event, and has no dead letter");
      checkLetter(letter, record, new Set([getCodeOfUnusable(record)]), fail);
      return;
    }
    for (const copy of copies) checkCopy(copy, { record, at, id }, fail);
    const reasons = new Set<string>();
    const named = findUndelivered(letter);
    let picked = 0;
    let mustBeUnmatched = true;
    let mayBeUnmatched = true;
    for (const externalId of topics.ids) {
      const usable = topics.listUsable(externalId, known, getTime());
      const matching = usable.filter(({ definition }) => definition?.filter.matches(content) === true);
      if (matching.length === usable.length) mayBeUnmatched = false;
      // A topic that no Kafka topic can be named after is skipped.
      const isRoutable = (version: TopicVersion): boolean =>
        findOutcomes(toSent(getEgressName(version), record, at)).size > 0;
      const must = matching.length === usable.length && matching.every(isRoutable);
      if (matching.length > 0) mustBeUnmatched = false;
      const own = copies.filter((copy) => getText(copy, routedEventHeader.topic) === externalId);
      if (own.length > 1) fail(`was forwarded to ${externalId} more than once`);
      const [copy] = own;
      // Without a list, the dead letter is for all of the topics.
      const mayBeInLetter = letter !== undefined && (named === undefined || named.has(externalId));
      if (copy !== undefined) {
        picked += 1;
        if (named?.has(externalId) === true)
          fail(`was forwarded to ${externalId}, and its dead letter denies that`);
        if (matching.length === 0) fail(`was forwarded to ${externalId}, which it does not match`);
        const names = usable.map(getEgressName);
        if (!names.includes(copy.topic)) fail(`was forwarded to ${externalId} at ${copy.topic}`);
        if (!findOutcomes(toSent(copy.topic, record, at)).has("sent"))
          fail(`was forwarded to ${copy.topic}, which does not exist or does not take it`);
        continue;
      }
      if (named?.has(externalId) === true) {
        picked += 1;
        if (matching.length === 0) fail(`has a dead letter for ${externalId}, which it does not match`);
      }
      const obstacles = matching.flatMap((version) =>
        listObstacles(toSent(getEgressName(version), record, at)),
      );
      for (const obstacle of obstacles) reasons.add(obstacle);
      if (!must && named?.has(externalId) !== true) continue;
      if (!mayBeInLetter) fail(`was not forwarded to ${externalId}`);
      if (obstacles.length === 0) fail(`has a dead letter for ${externalId} without a reason`);
    }
    const unmatchedObstacles =
      unmatchedTopic === undefined ? [] : listObstacles(toSent(unmatchedTopic, record, at));
    if (mayBeUnmatched) for (const obstacle of unmatchedObstacles) reasons.add(obstacle);
    const unmatched = copies.filter((copy) => getText(copy, routedEventHeader.topic) === undefined);
    if (unmatched.length > 1) fail("is unmatched more than once");
    if (unmatched.length > 0) {
      if (picked > 0 || !mayBeUnmatched) fail("was forwarded as unmatched, but matches a topic");
      if (unmatched[0]?.topic !== unmatchedTopic) fail("was forwarded as unmatched, to another Kafka topic");
    } else if (mustBeUnmatched && unmatchedTopic !== undefined) {
      if (letter === undefined || unmatchedObstacles.length === 0) fail("was not forwarded as unmatched");
    } else if (mustBeUnmatched && letter !== undefined) fail("has a dead letter, but matches no topic");
    if (letter !== undefined && named === undefined && copies.length > 0)
      fail("was forwarded, but its dead letter does not say so");
    if (letter !== undefined) checkLetter(letter, record, reasons, fail);
  }

  const listObstacles = (sent: ReturnType<typeof toSent>): readonly string[] =>
    [...findOutcomes(sent)].filter((outcome) => outcome !== "sent");

  const toSent = (name: string, { value }: StoredRecord, since: number) => ({
    name,
    bytes: value?.length ?? 0,
    since,
    until: getTime(),
  });

  /** Checks that events of one partition are in their order, except among dead letters. */
  function checkOrder(records: readonly WrittenRecord[]): void {
    const last = new Map<string, number>();
    for (const record of records) {
      const { partition, offset } = parseId(getEventId(record));
      if (record.topic === deadLetterTopic) continue;
      const place = `${record.topic}-${record.partition} of ${partition}`;
      if (offset < (last.get(place) ?? -1))
        throw new Violation(`${record.topic}: ${getEventId(record)} is out of order`);
      last.set(place, offset);
    }
  }

  const getEventId = (record: WrittenRecord): string =>
    getText(record, record.topic === deadLetterTopic ? deadLetterHeader.id : routedEventHeader.event) ?? "";

  function parseId(id: string): { readonly partition: number; readonly offset: number } {
    const match = /-(\d+)-(\d+)$/.exec(id);
    if (!id.startsWith(topic) || match === null) throw new Violation(`"${id}" is no event`);
    return { partition: Number(match[1]), offset: Number(match[2]) };
  }

  function checkCopy(
    copy: WrittenRecord,
    { record, at, id }: { readonly record: StoredRecord; readonly at: number; readonly id: string },
    fail: (message: string) => never,
  ): void {
    const change = findChange(copy, record, "copy");
    if (change !== undefined) fail(`lost ${change} on its way to ${copy.topic}`);
    const counts = listCounts(copy.topic, at, getTime());
    const ofEvent = parseId(id).partition;
    if (![...counts].some((count) => choosePartition(record.key, ofEvent, count) === copy.partition))
      fail(`is in partition ${copy.partition} of ${copy.topic}, which has ${[...counts].join(" or ")}`);
  }

  function checkLetter(
    letter: WrittenRecord,
    record: StoredRecord,
    reasons: ReadonlySet<string>,
    fail: (message: string) => never,
  ): void {
    const change = findChange(letter, record, "letter");
    if (change !== undefined) fail(`lost ${change} on its way to the dead letters`);
    const code = getText(letter, deadLetterHeader.code) ?? "";
    if (!reasons.has(code)) fail(`is a dead letter as ${code} instead of ${[...reasons].join(" or ")}`);
  }

  return {
    onDelivered(process: Host, partition: number, records: readonly StoredRecord[]): void {
      const ofProcess = delivered.get(process) ?? new Map<string, Delivered[]>();
      delivered.set(process, ofProcess);
      const known = topics.recordKnowledge();
      for (const record of records) {
        const id = formatId(partition, record.offset);
        ofProcess.set(id, [...(ofProcess.get(id) ?? []), { record, at: getTime(), known }]);
      }
    },

    /** Checks a transaction whose outcome is decided. */
    onDecided({ commit, process, beganAt, records, offsets }: DecidedTransaction): void {
      if (!commit) return;
      const [moved, ...others] = offsets;
      if (moved === undefined || others.length > 0)
        throw new Violation(`a commit moves ${offsets.size} positions`);
      const [key, { offset: to }] = moved;
      const partition = Number(/-(\d+)$/.exec(key)?.[1]);
      const log = getLog(partition);
      const from = positions.get(partition) ?? 0;
      if (to < from) throw new Violation(`the position of ${partition} moves back from ${from} to ${to}`);
      positions.set(partition, to);
      const byEvent = Map.groupBy(records, getEventId);
      const readable = log.readAll().filter(({ offset }) => offset >= from && offset < to);
      const ids = new Set(readable.map(({ offset }) => formatId(partition, offset)));
      for (const id of byEvent.keys()) {
        const { partition: ofEvent, offset } = parseId(id);
        if (ofEvent !== partition || offset < from || offset >= to)
          throw new Violation(`${id} is forwarded by a transaction from ${from} to ${to} of ${partition}`);
        ids.add(id);
      }
      for (const id of ids) {
        checks += 1;
        const found = byEvent.get(id) ?? [];
        const [letters, copies] = [
          found.filter((record) => record.topic === deadLetterTopic),
          found.filter((record) => record.topic !== deadLetterTopic),
        ];
        checkByAny(id, listDeliveries(process, id, beganAt), { copies, letters });
      }
      checkOrder(records);
      forwarded.push(...records);
      const certain = [...ids].filter((id) => isEvent(findDelivery(process, id, beganAt)));
      const possible = new Set<string>();
      for (let offset = from; offset < to; offset += 1) {
        const id = formatId(partition, offset);
        if (!ids.has(id) && isEvent(findDelivery(process, id, beganAt))) possible.add(id);
      }
      unreported.set(process, [...(unreported.get(process) ?? []), { certain, possible }]);
    },

    onReported(process: Host, { events }: RoutedBatch): void {
      const reported = events.map(({ id }) => id);
      if (reported.length === 0) return;
      const waiting = unreported.get(process) ?? [];
      const at = waiting.findIndex(
        ({ certain, possible }) =>
          [...certain, ...reported.filter((id) => possible.has(id))].toSorted(byOffset).join() ===
          reported.join(),
      );
      if (at === -1) throw new Violation(`a report of a batch that was not stored so: ${reported.join()}`);
      waiting.splice(at, 1);
    },

    /** Checks what readers of the Kafka topics that exist are delivered: each committed record once, and no other. */
    checkFinal(logs: readonly PartitionLog[]): void {
      for (const log of logs) {
        const read = log.readAll();
        const expected = forwarded
          .filter((record) => record.log === log)
          .toSorted((one, other) => one.offset - other.offset);
        checkOrder(expected);
        const missing = expected.find((record, index) => read[index]?.offset !== record.offset);
        if (missing !== undefined || read.length !== expected.length)
          throw new Violation(
            `readers are delivered ${read.length} records of a log, of ${expected.length} that were committed`,
          );
      }
    },
    getPosition: (partition: number): number => positions.get(partition) ?? 0,
    countChecks: () => checks,
    describe: (): string =>
      forwarded.map((record) => `${record.topic}-${record.partition} ${getEventId(record)}`).join(),
  };
}

const isEvent = (delivery: Delivered | undefined): boolean =>
  delivery !== undefined && parseEvent(delivery.record.value) !== undefined;

const byOffset = (a: string, b: string): number => Number(/\d+$/.exec(a)?.[0]) - Number(/\d+$/.exec(b)?.[0]);

/** The topics that a dead letter names; undefined when it names none. */
function findUndelivered(letter: WrittenRecord | undefined): ReadonlySet<string> | undefined {
  const text = letter && getText(letter, routedEventHeader.undelivered);
  return text === undefined ? undefined : new Set(JSON.parse(text) as string[]);
}
