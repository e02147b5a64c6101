import { deadLetterHeader } from "../../schemas/dead-letter.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import { isDeadLetterHeader } from "../dead-letters/dead-letter.ts";
import { RejectionError, type RejectionCode } from "../lib/errors.ts";
import { getHeaderText, formatRecordPosition, type LogRecord, type Partition } from "../sync/records.ts";
import type { EgressNaming } from "./egress.ts";
import type { RoutedRecord } from "./transactions.ts";

/** An event, and the topics that it belongs to. */
export interface RoutedEvent {
  readonly record: LogRecord;
  /** Names all of its copies. */
  readonly id: string;
  /** External ids. */
  readonly topics: readonly string[];
  /** Whether no topic wants it. */
  readonly isUnmatched: boolean;
}

/** A copy of an event for one topic; for the Kafka topic of unmatched events when `externalId` is undefined. */
export interface Copy extends RoutedRecord {
  readonly event: RoutedEvent;
  readonly externalId: string | undefined;
}

/** Why an event cannot be forwarded to a topic. */
export interface Undelivered {
  readonly event: RoutedEvent;
  readonly externalId: string | undefined;
  readonly code: RejectionCode;
  readonly message: string;
}

export interface RouteOptions {
  readonly partition: Partition;
  readonly naming: EgressNaming;
  readonly getNamespace: (externalId: string) => string;
  /** Undefined: events that no topic wants are dropped. */
  readonly unmatchedTopic: string | undefined;
  readonly choosePartition: (key: Buffer, partitions: number) => number;
}

/** Where the events of a batch go. */
export interface RoutePlan {
  /** The names of the Kafka topics that are needed. */
  readonly names: ReadonlySet<string>;
  /** Yields the copies, and reports what cannot be forwarded. `found`: see EgressTopics. */
  copies(
    found: ReadonlyMap<string, number | string>,
    onUndelivered: (undelivered: Undelivered) => void,
  ): Generator<Copy>;
}

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
  const undelivered = parseIds(getHeaderText(record.headers, routedEventHeader.undelivered));
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
  const own = Object.entries(headers).filter(([name]) => !isDeadLetterHeader(name));
  const time = getHeaderText(headers, deadLetterHeader.time);
  return { ...record, timestamp: time ?? record.timestamp, headers: Object.fromEntries(own) };
}

function parseIds(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined;
  try {
    const ids: unknown = JSON.parse(text);
    return Array.isArray(ids) ? new Set(ids) : undefined;
  } catch {
    return undefined;
  }
}

/** Plans where events are forwarded to. */
export function planRoutes(events: readonly RoutedEvent[], options: RouteOptions): RoutePlan {
  const { naming, getNamespace, unmatchedTopic } = options;
  const names = new Set<string>();
  /** By external id. */
  const targets = new Map<string, Target>();

  /** That of all topics, where its name is fixed. */
  let fixedTarget: Target | undefined;

  function createTarget(name: string): Target {
    const fault = naming.findFault(name);
    if (fault === undefined) names.add(name);
    return { name, fault };
  }

  function getTarget(externalId: string): Target {
    if (naming.fixedName !== undefined) return (fixedTarget ??= createTarget(naming.fixedName));
    let target = targets.get(externalId);
    if (target === undefined) {
      target = createTarget(naming.getName({ externalId, namespace: getNamespace(externalId) }));
      targets.set(externalId, target);
    }
    return target;
  }

  for (const { topics, isUnmatched } of events) {
    for (const externalId of topics) getTarget(externalId);
    if (isUnmatched && unmatchedTopic !== undefined) names.add(unmatchedTopic);
  }

  function createCopy(
    event: RoutedEvent,
    externalId: string | undefined,
    topic: string,
    partitions: number,
  ): Copy {
    const { key, value, timestamp, headers } = event.record;
    return {
      event,
      externalId,
      topic,
      partition: chooseTarget(key, partitions, options),
      key,
      value,
      timestamp,
      headers:
        externalId === undefined
          ? { ...headers, [routedEventHeader.event]: event.id }
          : { ...headers, [routedEventHeader.topic]: externalId, [routedEventHeader.event]: event.id },
    };
  }

  return {
    names,
    *copies(found, onUndelivered) {
      for (const event of events) {
        const wanted = event.isUnmatched ? [undefined] : event.topics;
        for (const externalId of wanted) {
          const target = externalId === undefined ? toUnmatched(unmatchedTopic) : getTarget(externalId);
          if (target === undefined) continue;
          const partitions = target.fault ?? found.get(target.name);
          if (typeof partitions === "number") yield createCopy(event, externalId, target.name, partitions);
          else onUndelivered(toUndelivered(event, externalId, target, partitions));
        }
      }
    },
  };
}

/** The partition for a record. Without a key, the events of a partition stay in their order, too. */
export const chooseTarget = (
  key: Buffer | null,
  partitions: number,
  { partition: { partition }, choosePartition }: Pick<RouteOptions, "partition" | "choosePartition">,
): number => (key === null ? partition % partitions : choosePartition(key, partitions));

interface Target {
  readonly name: string;
  /** Why no Kafka topic can have this name. */
  readonly fault: string | undefined;
}

const toUnmatched = (name: string | undefined): Target | undefined =>
  name === undefined ? undefined : { name, fault: undefined };

const toUndelivered = (
  event: RoutedEvent,
  externalId: string | undefined,
  { name, fault }: Target,
  reason = "",
): Undelivered => ({
  event,
  externalId,
  code: fault === undefined ? "NO_EGRESS_TOPIC" : "BAD_EGRESS_NAME",
  message:
    fault === undefined
      ? `the Kafka topic "${name}" is missing: ${reason}`
      : `no Kafka topic can be used: ${fault}`,
});

/** A longer list would make the dead letter too large. Its replay then goes to all topics. */
const maxListedBytes = 500_000;
const maxNamedTopics = 20;

/** A dead letter for each event that could not be forwarded to all of its topics. */
export function toRejections(undelivered: readonly Undelivered[]): EventRejection[] {
  return [...Map.groupBy(undelivered, ({ event }) => event)].map(([event, parts]) => {
    const details = parts.map(({ externalId, message }) => ({
      path: "",
      message:
        externalId === undefined
          ? `matches no topic, and ${message}`
          : `belongs to the topic "${externalId}", but ${message}`,
    }));
    const sentences = details.slice(0, maxNamedTopics).map(({ message }) => `The event ${message}.`);
    const more = parts.length > maxNamedTopics ? [`${parts.length - maxNamedTopics} more topics.`] : [];
    const ids = parts.map(({ externalId }) => externalId);
    const list = JSON.stringify(ids);
    const isPartial = parts.length < event.topics.length && list.length <= maxListedBytes;
    return {
      offset: event.record.offset,
      rejection: new RejectionError(
        parts[0]?.code ?? "NO_EGRESS_TOPIC",
        [...sentences, ...more].join(" "),
        details,
      ),
      headers: isPartial ? { [routedEventHeader.undelivered]: list } : {},
    };
  });
}

/** Why an event is a dead letter. */
export interface EventRejection {
  readonly offset: number;
  readonly rejection: RejectionError;
  /** Further headers of the dead letter. */
  readonly headers?: Readonly<Record<string, string>>;
}
