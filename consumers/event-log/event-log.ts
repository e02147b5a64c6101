import PQueue from "p-queue";

import { createCursorError, createCursorFormat } from "@topicsync/lib/cursor";
import { KafkaUnavailableError, OverloadedError } from "@topicsync/lib/errors";
import { elapsed, sleep } from "@topicsync/lib/platform";
import {
  formatRecordPosition,
  getHeaderText,
  type LogReader,
  type LogRecord,
  type OffsetRange,
  type OutgoingRecord,
  type Position,
  type RecordProducer,
} from "@topicsync/kafka";
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import { readUndelivered } from "../../src/routing/plan.ts";
import { decodeEvent, removeForgedHeaders, type Decoded } from "../events/decode.ts";
import { findCopies, type FoundCopies } from "./copies.ts";
import { readLatest } from "./latest.ts";

/** What reads the events topic. */
export type EventKafka = LogReader & {
  fetchCommittedOffsets(read: {
    readonly topic: string;
    readonly groupId: string;
  }): Promise<ReadonlyMap<number, Position>>;
  createProducer(topic: string): RecordProducer;
};

export interface EventLogOptions {
  readonly topic: string;
  /** The router's consumer group. */
  readonly groupId: string;
  readonly maxEventBytes: number;
  /** Undefined: events that no topic matches are not forwarded. */
  readonly unmatchedTopic: string | undefined;
  /** Throws UnavailableError. */
  readonly connect: () => Promise<EventKafka>;
  /** The key of the proofs of replays; undefined if there is none yet. */
  readonly findProofKey: () => Promise<Buffer | undefined>;
  readonly abort: AbortSignal;
}

/** A record of the events topic, read as the router reads it. */
export interface LoggedEvent {
  readonly id: string;
  readonly partition: number;
  readonly record: LogRecord;
  readonly decoded: Decoded;
  /** The dead letter that it replays. Its copies have this id. */
  readonly replayOf: string | undefined;
  /** A replay goes only to these topics. Undefined: to all that it belongs to. */
  readonly only: ReadonlySet<string> | undefined;
  /** How many records the router reads until it has read it; 0 if it has. */
  readonly waitsFor: number;
}

export interface Search<T> {
  /** Milliseconds since 1970. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
  /** Returns undefined for an event that is not wanted. */
  readonly select: (event: LoggedEvent) => T | undefined;
}

interface SearchPage<T> {
  /** Latest first. */
  readonly items: readonly T[];
  readonly read: number;
  readonly left: number;
  readonly next: string | null;
}

/** The events topic, read without the router. Every function throws UnavailableError and OverloadedError. */
export type EventLog = ReturnType<typeof createEventLog>;

/** What one page may cost. */
const pageLimits = { maxRecords: 20_000, maxMs: 3_000 };
const searchLimits = { maxRecords: Infinity, maxMs: 10_000 };
const maxWaiting = 20;
/** How often the router's position is looked up while somebody waits for it. */
const pollMs = 100;

export function createEventLog(options: EventLogOptions) {
  const { topic, groupId, unmatchedTopic, maxEventBytes, connect, findProofKey, abort } = options;
  let producer: RecordProducer | undefined;
  const queue = new PQueue({ concurrency: 2 });
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (queue.size < maxWaiting) return queue.add(work);
    throw new OverloadedError("too many requests are waiting for events");
  };

  async function open() {
    const kafka = await connect();
    const [bounds, positions, proofKey] = await Promise.all([
      kafka.fetchBounds(topic),
      kafka.fetchCommittedOffsets({ topic, groupId }),
      findProofKey(),
    ]);
    if (bounds === undefined) throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
    const getId = (place: EventPlace): string =>
      formatRecordPosition({ topic, ...place, epoch: positions.get(place.partition)?.epoch ?? 1 });
    const toEvent = (given: LogRecord, partition: number): LoggedEvent => {
      const record = removeForgedHeaders(given, { topic }, proofKey);
      const position = positions.get(partition);
      return {
        id: getId({ partition, offset: record.offset }),
        ...{ partition, record },
        decoded: decodeEvent(record, maxEventBytes),
        replayOf: getHeaderText(record.headers, deadLetterHeader.replayOf),
        only: readUndelivered(record),
        waitsFor: Math.max(0, record.offset + 1 - (position?.offset ?? 0)),
      };
    };
    return { kafka, bounds, getId, toEvent };
  }

  type OpenLog = Awaited<ReturnType<typeof open>>;

  /** Where each partition begins and ends, within some times. */
  async function findRanges(
    { kafka, bounds }: OpenLog,
    { from, to }: Pick<Search<unknown>, "from" | "to">,
  ): Promise<OffsetRange[]> {
    const first = from === undefined ? undefined : await kafka.findFirstSince(topic, from);
    const end = to === undefined ? undefined : await kafka.findFirstSince(topic, to);
    return [...bounds].map(([partition, { low, high }]) => ({
      partition,
      from: Math.max(low, first?.get(partition) ?? low),
      to: Math.min(high, end?.get(partition) ?? high),
    }));
  }

  async function search<T>(
    { after, limit, select, ...times }: Search<T>,
    limits = pageLimits,
  ): Promise<SearchPage<T>> {
    const log = await open();
    const all = await findRanges(log, times);
    const { items, records, rest } = await readLatest(log.kafka, topic, {
      ...{ limit, abort, ...limits },
      ranges: after === undefined ? all : readOn(all, parseCursor(after)),
      select: (record, partition) => select(log.toEvent(record, partition)),
    });
    const left = rest.reduce((sum, range) => sum + range.to - range.from, 0);
    return { items, read: records, left, next: left === 0 ? null : formatCursor(rest) };
  }

  /** The record at a position, if Kafka has it. */
  async function readAt(
    { partition, offset }: EventPlace,
    { kafka, bounds, toEvent }: OpenLog,
  ): Promise<LoggedEvent | undefined> {
    const { low = 0, high = 0 } = bounds.get(partition) ?? {};
    if (offset < low || offset >= high) return undefined;
    const records = await kafka.fetchRecords(topic, { partition, offset });
    const record = records.find((one) => one.offset === offset);
    return record && toEvent(record, partition);
  }

  return {
    ...{ unmatchedTopic, maxEventBytes },
    /** A page of events. Throws a RejectionError for a bad cursor. */
    search: <T>(wanted: Search<T>) => inTurn(() => search(wanted)),
    /** Whether a text is the id of an event, if there is one. */
    isId: (text: string) => parsePlace(topic, text) !== undefined,
    /** The event with an id; undefined if Kafka does not have it. */
    async read(id: string): Promise<LoggedEvent | undefined> {
      const place = parsePlace(topic, id);
      const found = place && (await inTurn(async () => readAt(place, await open())));
      return found?.id === id ? found : undefined;
    },
    /** The latest event with an `eventId`, and where the search ended if it did not find it in time. */
    async findByEventId(eventId: string, to: number | undefined) {
      const select = (logged: LoggedEvent): LoggedEvent | undefined =>
        "event" in logged.decoded && logged.decoded.event.eventId === eventId ? logged : undefined;
      const { items, left } = await inTurn(() => search({ to, limit: 1, select }, searchLimits));
      return { event: items[0], left };
    },
    /** Copies of an event in these Kafka topics. */
    findCopies: ({ id, replayOf = id, partition, record }: LoggedEvent, kafkaTopics: readonly string[]) =>
      inTurn(async (): Promise<FoundCopies> => {
        const kafka = await connect();
        return findCopies(kafka, { id: replayOf, partition, record }, { kafkaTopics, abort });
      }),
    /** Sends records. Returns where they are, or why Kafka rejects them; see RecordProducer. */
    async send(records: readonly OutgoingRecord[]) {
      const { kafka, getId } = await open();
      producer ??= kafka.createProducer(topic);
      const results = await producer.send(records);
      return results.map((result) => ("rejection" in result ? result : { id: getId(result), ...result }));
    },
    /** Waits until the router has read these records, at most so long. Returns whether it has read each. */
    async waitUntilRouted(places: readonly EventPlace[], timeoutMs: number): Promise<boolean[]> {
      const kafka = await connect();
      for (const end = elapsed() + timeoutMs; ;) {
        const positions = await kafka.fetchCommittedOffsets({ topic, groupId });
        const routed = places.map(
          ({ partition, offset }) => (positions.get(partition)?.offset ?? 0) > offset,
        );
        if (routed.every(Boolean) || elapsed() > end || abort.aborted) return routed;
        await sleep(pollMs, abort);
      }
    },
  };
}

interface EventPlace {
  readonly partition: number;
  readonly offset: number;
}

/** Reads `topic-partition-offset`, perhaps with an epoch; undefined for any other text. */
function parsePlace(topic: string, id: string): EventPlace | undefined {
  if (!id.startsWith(`${topic}-`)) return undefined;
  const [, partition, offset] = /^(\d{1,9})-(\d{1,15})(?:-\d{1,9})?$/.exec(id.slice(topic.length + 1)) ?? [];
  return partition === undefined ? undefined : { partition: Number(partition), offset: Number(offset) };
}

/** Continues before the offsets of a cursor. A partition that it does not name was read. */
const readOn = (all: readonly OffsetRange[], ends: ReadonlyMap<number, number>): OffsetRange[] =>
  all.map((range) => ({ ...range, to: Math.min(range.to, ends.get(range.partition) ?? range.from) }));

const cursors = createCursorFormat("events", ["string"]);

/** A URL has at most 2,048 characters. */
const radix = 36;

/** The ends of the partitions in their order, empty for those that were read. */
function formatCursor(rest: readonly OffsetRange[]): string {
  const ends: string[] = [];
  for (const { partition, to } of rest) ends[partition] = to.toString(radix);
  return cursors.encode([ends.join(",")]);
}

/** Throws a RejectionError. */
function parseCursor(cursor: string): ReadonlyMap<number, number> {
  const [text] = cursors.decode(cursor);
  const ends = text.split(",").map((end) => (end === "" ? 0 : parseInt(end, radix)));
  if (!ends.every(Number.isSafeInteger)) throw createCursorError("is not a cursor of this list");
  return new Map(ends.entries());
}
