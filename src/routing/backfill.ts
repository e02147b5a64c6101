import type { AuditEvent } from "@topicsync/lib/audit/audit";
import type { OffsetRange } from "@topicsync/kafka";
import type { BackfillView } from "../../schemas/backfill.ts";
import type { Topic } from "../topics/topic.ts";
import type { Namespaces } from "../users/rights.ts";

/** The events of a partition that a backfill forwards. */
export interface BackfillRange extends OffsetRange {
  /** The log that the offsets belong to. */
  readonly epoch: number;
  /** Null where brokers have no topic ids. */
  readonly topicId: string | null;
  /** The offset after those that are done. Kafka's committed offset may be later. */
  readonly position: number;
  readonly copies: number;
}

/** What is requested. */
export interface BackfillRequest {
  readonly from: Date;
  readonly to: Date | null;
  /** Events that are read per second. */
  readonly rate: number;
  readonly requestedBy: string;
}

/** Forwards past events to one topic, whose definition at the time of the request it keeps. */
export interface Backfill extends BackfillRequest {
  readonly id: string;
  readonly topic: Pick<Topic, "id" | "externalId" | "namespace" | "version" | "headerQuery" | "contentQuery">;
  /** The Kafka topic of the copies. */
  readonly egressTopic: string;
  readonly requestedOn: Date;
  /** Every event that the router has not read by then is matched with this version of the topic. */
  readonly startsOn: Date;
  readonly state: "running" | "done" | "cancelled" | "failed";
  readonly reason: string | null;
  readonly endedOn: Date | null;
  /** Null until it begins. */
  readonly ranges: readonly BackfillRange[] | null;
}

export interface BackfillEnd {
  readonly state: Exclude<Backfill["state"], "running">;
  readonly reason: string | null;
  readonly endedOn: Date;
}

/** Stores backfills. Each topic has at most one that is running. Every function throws UnavailableError. */
export interface BackfillStore {
  /** Returns false if another one of the topic is running. */
  insert(backfill: Backfill): Promise<boolean>;
  find(id: string): Promise<Backfill | undefined>;
  /** The latest ones, the latest first. */
  list(query: { readonly namespaces: Namespaces; readonly limit: number }): Promise<Backfill[]>;
  countRunning(): Promise<number>;
  /** When one of a topic was cancelled last. */
  findLastCancel(externalId: string): Promise<Date | undefined>;
  /** Gives the oldest one that is due, and that nobody runs, to an owner until a time. */
  lease(owner: string, now: Date, until: Date): Promise<Backfill | undefined>;
  /** Extends the lease, and stores the progress. Returns false if it has ended, or has another owner. */
  keep(id: string, owner: string, until: Date, ranges: Backfill["ranges"]): Promise<boolean>;
  /** Ends one that is running. Returns it as it is then. */
  end(id: string, end: BackfillEnd): Promise<Backfill | undefined>;
}

/**
 * Requests a backfill. Returns undefined if another one of the topic is running. Throws a RejectionError and
 * UnavailableError.
 */
export type RequestBackfill = (topic: Topic, request: BackfillRequest) => Promise<Backfill | undefined>;

/** Kafka's committed offsets of a backfill belong to this group; its transactional ids begin with it. */
export const toBackfillGroup = (routerGroup: string, { id }: Pick<Backfill, "id">): string =>
  `${routerGroup}-backfill-${id}`;

export function toBackfillView(backfill: Backfill): BackfillView {
  const { id, egressTopic, state, reason, rate, requestedBy } = backfill;
  const { externalId, namespace, version } = backfill.topic;
  const ranges = backfill.ranges ?? [];
  const sum = (count: (range: BackfillRange) => number): number =>
    ranges.reduce((total, range) => total + count(range), 0);
  return {
    ...{ id, externalId, namespace, version, egressTopic, reason, rate, requestedBy },
    state: state === "running" && backfill.ranges === null ? "waiting" : state,
    from: backfill.from.toISOString(),
    to: backfill.to?.toISOString() ?? null,
    offsets: sum(({ from, to }) => to - from),
    done: sum(({ from, position }) => position - from),
    copies: sum(({ copies }) => copies),
    requestedOn: backfill.requestedOn.toISOString(),
    endedOn: backfill.endedOn?.toISOString() ?? null,
  };
}

export const toBackfillEvent = (
  action: "backfill.requested" | "backfill.cancelled",
  { id, topic: { externalId } }: Backfill,
): AuditEvent => ({ action, id, externalId });
