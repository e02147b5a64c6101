import { RejectionError } from "@topicsync/lib/errors";
import {
  formatRecordPosition,
  getHeaderText,
  withHeaders,
  measureRecord,
  type LogRecord,
  type RecordHeader,
  type Partition,
  type EgressNaming,
  type NamedTopic,
  type EgressObstacle,
  type RoutedRecord,
} from "@topicsync/kafka";
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import { isDeadLetterHeader } from "../dead-letters/dead-letter.ts";
import { keepShares, quoteNamespaces } from "./namespace-shares.ts";

/** An event, and the topics that it is forwarded to. */
export interface RoutedEvent {
  readonly record: LogRecord;
  /** Names all of its copies. */
  readonly id: string;
  /** External ids. */
  readonly topics: readonly string[];
  /** Whether no topic wants it. */
  readonly isUnmatched: boolean;
}

/**
 * A copy of an event for one topic; for the Kafka topic of unmatched events when `externalId` is undefined.
 */
export interface Copy extends RoutedRecord {
  readonly event: RoutedEvent;
  readonly externalId: string | undefined;
}

/** Why an event cannot be forwarded to a topic. */
export interface Undelivered {
  readonly event: RoutedEvent;
  readonly externalId: string | undefined;
  /** The Kafka topic. */
  readonly topic: string;
  /** `TOO_MANY_TOPICS`: left out, because the event has too many copies. */
  readonly code: EgressObstacle["code"] | "TOO_MANY_TOPICS";
  readonly reason: string;
}

export interface RouteOptions {
  readonly partition: Partition;
  readonly naming: EgressNaming;
  readonly getNamespace: (externalId: string) => string;
  /** Undefined: events that no topic wants are dropped. */
  readonly unmatchedTopic: string | undefined;
  /** Of an event with more copies, those beyond the shares of their namespaces are left out. */
  readonly maxCopies: number;
  readonly choosePartition: (key: Buffer, partitions: number) => number;
  /** The id of the backfill that sends the copies. */
  readonly backfill?: string | undefined;
}

/** One transaction holds no more than these, unless a single event has more. */
const maxCopiesPerPlan = 100_000;
const megabyte = 1024 * 1024;
const maxBytesPerPlan = 64 * megabyte;
/**
 * The copies of one event cannot be split, and are sent before the broker ends the transaction, after a
 * minute.
 */
const maxBytesPerEvent = 512 * megabyte;
const headerOverheadBytes = 2;
/** The rest of what a copy takes: the names of its headers, the id of the event and Kafka's own numbers. */
const copyOverheadBytes = 100;

/** See EgressTopics. */
export type FoundTopics = ReadonlyMap<string, number | EgressObstacle>;

/** The event of a record with its topics. A replay goes only to the topics that its dead letter names. */
export function toRoutedEvent(
  record: LogRecord,
  {
    partition,
    epoch,
    picked,
  }: { readonly partition: Partition; readonly epoch: number; readonly picked: readonly string[] },
): RoutedEvent {
  const isUnmatched = picked.length === 0;
  const replayOf = getHeaderText(record.headers, deadLetterHeader.replayOf);
  if (replayOf === undefined) {
    const id = formatRecordPosition({ ...partition, offset: record.offset, epoch });
    return { record, id, topics: picked, isUnmatched };
  }
  const undelivered = readUndelivered(record);
  const topics = undelivered === undefined ? picked : picked.filter((id) => undelivered.has(id));
  return {
    record: toOriginal(record),
    id: replayOf,
    topics,
    isUnmatched: isUnmatched && undelivered === undefined,
  };
}

/** The record as it was before it became a dead letter and was replayed. */
function toOriginal(record: LogRecord): LogRecord {
  const { headers } = record;
  const own = headers.filter(([name]) => !isDeadLetterHeader(name));
  const time = getHeaderText(headers, deadLetterHeader.time);
  return { ...record, timestamp: time ?? record.timestamp, headers: own };
}

/** The topics that a replayed event goes to, by external id; undefined for all that it belongs to. */
export function readUndelivered({ headers }: Pick<LogRecord, "headers">): ReadonlySet<string> | undefined {
  if (getHeaderText(headers, deadLetterHeader.replayOf) === undefined) return undefined;
  const text = getHeaderText(headers, routedEventHeader.undelivered);
  if (text === undefined) return undefined;
  try {
    const ids: unknown = JSON.parse(text);
    return Array.isArray(ids) ? new Set(ids) : undefined;
  } catch {
    return undefined;
  }
}

/** Copies of an event that are left out because it has too many. */
interface LeftOut {
  readonly event: RoutedEvent;
  readonly externalIds: readonly string[];
  readonly reason: string;
}

/** Where the events of a batch go. Grows until it is large enough for one transaction. */
export class RoutePlan {
  readonly #options: RouteOptions;
  readonly #events: RoutedEvent[] = [];
  readonly #leftOut: LeftOut[] = [];
  readonly #names = new Set<string>();
  /** The name of the Kafka topic by external id; undefined if none can have it. */
  readonly #known = new Map<string, string | undefined>();
  /** The name of the Kafka topic of all topics, where there is one. */
  readonly #fixedName: string | undefined;
  #size = 0;
  #bytes = 0;
  #unroutable = 0;

  constructor(options: RouteOptions) {
    const { fixedName } = options.naming;
    this.#options = options;
    this.#fixedName =
      fixedName === undefined ? undefined : this.#findLegal({ externalId: "", namespace: "" });
  }

  get events(): readonly RoutedEvent[] {
    return this.#events;
  }

  /** The names of the Kafka topics that are needed. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /** The number of copies, including those that cannot be forwarded. */
  get size(): number {
    return this.#size;
  }

  /** Whether some copies are left out, so that there are dead letters. */
  get leavesOut(): boolean {
    return this.#leftOut.length > 0;
  }

  /**
   * How often an event matched a topic that no Kafka topic can be named after. It is forwarded to its other
   * topics only.
   */
  get unroutable(): number {
    return this.#unroutable;
  }

  /**
   * Adds an event with the topics that it matches. Returns false if the plan is too large for it; an empty
   * plan takes any. Throws a RejectionError if it has too many copies, and all are of one namespace.
   */
  add(event: RoutedEvent): boolean {
    const { unmatchedTopic } = this.#options;
    const topics =
      this.#fixedName === undefined
        ? event.topics.filter((externalId) => this.#findName(externalId) !== undefined)
        : event.topics;
    const wanted = event.isUnmatched && unmatchedTopic !== undefined ? [unmatchedTopic] : topics;
    const bytes = measureCopies(event, wanted);
    const reason = this.#findExcess(wanted, bytes);
    const kept = reason === undefined ? topics : this.#limit(event, topics, reason);
    // Those that are left out count, since the plan and a dead letter name them.
    const isTooLarge = this.#size + wanted.length > maxCopiesPerPlan || this.#bytes + bytes > maxBytesPerPlan;
    if (isTooLarge && this.#events.length > 0) return false;
    const routed = kept.length === event.topics.length ? event : { ...event, topics: kept };
    this.#events.push(routed);
    if (reason !== undefined) this.#leftOut.push(this.#describeLeftOut(routed, topics, reason));
    this.#size += wanted.length;
    this.#bytes += bytes;
    this.#unroutable += event.topics.length - topics.length;
    for (const externalId of kept) this.#names.add(this.#findName(externalId) ?? "");
    if (event.isUnmatched && unmatchedTopic !== undefined) this.#names.add(unmatchedTopic);
    return true;
  }

  /** Why an event has too many copies; undefined if it has not. */
  #findExcess({ length }: readonly string[], bytes: number): string | undefined {
    const { maxCopies } = this.#options;
    if (length > maxCopies) return `one event is forwarded to at most ${maxCopies}`;
    return bytes > maxBytesPerEvent
      ? `its copies would take more than ${maxBytesPerEvent / megabyte} MiB`
      : undefined;
  }

  /** The topics of an event within the shares of their namespaces. */
  #limit(event: RoutedEvent, topics: readonly string[], reason: string): readonly string[] {
    const longestId = topics.reduce((longest, { length }) => Math.max(longest, length), 0);
    const maxByBytes = Math.floor(maxBytesPerEvent / (measureCopies(event, [""]) + longestId));
    const { maxCopies, getNamespace } = this.#options;
    const kept = keepShares(topics, Math.min(maxCopies, maxByBytes), getNamespace);
    if (kept.length > 0) return kept;
    throw new RejectionError("TOO_MANY_TOPICS", `The event belongs to ${topics.length} topics: ${reason}.`);
  }

  #describeLeftOut(event: RoutedEvent, topics: readonly string[], reason: string): LeftOut {
    const kept = new Set(event.topics);
    const externalIds = topics.filter((externalId) => !kept.has(externalId));
    const namespaces = quoteNamespaces(externalIds, this.#options.getNamespace);
    return {
      event,
      externalIds,
      reason: `belongs to ${topics.length} topics: ${reason}. It is not forwarded to ${externalIds.length} topics of ${namespaces}`,
    };
  }

  /** Yields the copies for Kafka topics that exist. An array of all would take tens of megabytes. */
  *copies(found: FoundTopics, isWanted: (topic: string) => boolean = () => true): Generator<Copy> {
    for (const event of this.#events)
      for (const externalId of event.isUnmatched ? [undefined] : event.topics) {
        const topic = this.#findTarget(externalId);
        const partitions = topic === undefined ? undefined : getTarget(topic, found);
        if (topic !== undefined && typeof partitions === "number" && isWanted(topic))
          yield createCopy(event, externalId, topic, partitions, this.#options);
      }
  }

  /** What cannot be forwarded. */
  listUndelivered(found: FoundTopics): Undelivered[] {
    const undelivered = this.#leftOut.flatMap(({ event, externalIds, reason }) =>
      externalIds.map((externalId): Undelivered => {
        const topic = this.#findName(externalId) ?? "";
        return { event, externalId, topic, code: "TOO_MANY_TOPICS", reason };
      }),
    );
    if ([...this.#names].every((name) => typeof found.get(name) === "number")) return undelivered;
    for (const event of this.#events)
      for (const externalId of event.isUnmatched ? [undefined] : event.topics) {
        const topic = this.#findTarget(externalId);
        const obstacle = topic === undefined ? undefined : getTarget(topic, found);
        if (topic !== undefined && typeof obstacle === "object")
          undelivered.push({ ...obstacle, event, externalId, topic });
      }
    return undelivered;
  }

  /** The Kafka topic of a copy. */
  #findTarget(externalId: string | undefined): string | undefined {
    return externalId === undefined ? this.#options.unmatchedTopic : this.#findName(externalId);
  }

  // Looked up when the event is added: later, the index may have lost the namespaces of its topics.
  #findName(externalId: string): string | undefined {
    const { naming, getNamespace } = this.#options;
    if (naming.fixedName !== undefined) return this.#fixedName;
    const name = this.#known.get(externalId);
    if (name !== undefined || this.#known.has(externalId)) return name;
    const found = this.#findLegal({ externalId, namespace: getNamespace(externalId) });
    this.#known.set(externalId, found);
    return found;
  }

  #findLegal(topic: NamedTopic): string | undefined {
    const { naming } = this.#options;
    return naming.findFault(topic) === undefined ? naming.getName(topic) : undefined;
  }
}

function measureCopies({ record }: RoutedEvent, topics: readonly string[]): number {
  if (topics.length === 0) return 0;
  const each = measureRecord(record, headerOverheadBytes) + copyOverheadBytes;
  return topics.length * each + topics.reduce((sum, { length }) => sum + length, 0);
}

/** Throws if the Kafka topic was not looked up. */
function getTarget(topic: string, found: FoundTopics): number | EgressObstacle {
  const target = found.get(topic);
  if (target === undefined) throw new Error(`the Kafka topic "${topic}" was not looked up`);
  return target;
}

function createCopy(
  event: RoutedEvent,
  externalId: string | undefined,
  topic: string,
  partitions: number,
  options: RouteOptions,
): Copy {
  const { key, value, timestamp, headers } = event.record;
  const added: RecordHeader[] = [[routedEventHeader.event, event.id]];
  if (externalId !== undefined) added.unshift([routedEventHeader.topic, externalId]);
  if (options.backfill !== undefined) added.push([routedEventHeader.backfill, options.backfill]);
  return {
    event,
    externalId,
    topic,
    partition: chooseTarget(key, partitions, options),
    key,
    value,
    timestamp,
    headers: withHeaders(headers, added),
  };
}

/** The partition for a record. Without a key, the events of a partition stay in their order, too. */
export const chooseTarget = (
  key: Buffer | null,
  partitions: number,
  {
    partition: { partition },
    choosePartition,
  }: Pick<RouteOptions, "choosePartition"> & { readonly partition: Pick<Partition, "partition"> },
): number => (key === null ? partition % partitions : choosePartition(key, partitions));
