import type { AuditEvent } from "@topicsync/lib/audit/audit";
import type { OffsetRange } from "@topicsync/kafka";
import type { BackfillView } from "../../schemas/backfill.ts";
import type { Topic } from "../topics/topic.ts";
import type { Namespaces } from "../users/rights.ts";

/** The events of a partition that a backfill forwards. */
export interface BackfillRange extends OffsetRange {
  /** The log that the offsets belong to. */
  readonly epoch: number;
  readonly topicId: string | undefined;
  /** The offset after those that are done. Kafka's committed offset may be later. */
  readonly position: number;
  readonly copies: number;
}

/** Forwards past events to one topic, whose definition at the time of the request it keeps. */
export interface Backfill {
  readonly id: string;
  readonly topic: Pick<Topic, "id" | "externalId" | "namespace" | "version" | "headerQuery" | "contentQuery">;
  /** The Kafka topic of the copies. */
  readonly egressTopic: string;
  readonly from: Date;
  readonly to: Date | undefined;
  /** Events that are read per second. */
  readonly rate: number;
  readonly requestedBy: string;
  readonly requestedOn: Date;
  /** Every event that the router has not read by then is matched with this version of the topic. */
  readonly startsOn: Date;
  readonly state: "running" | "done" | "cancelled" | "failed";
  readonly reason: string | undefined;
  readonly endedOn: Date | undefined;
  /** Undefined until it begins. */
  readonly ranges: readonly BackfillRange[] | undefined;
}

export type BackfillEnd = Pick<Backfill, "reason"> & {
  readonly state: Exclude<Backfill["state"], "running">;
  readonly endedOn: Date;
};

/** Stores backfills. Each topic has at most one that is running. Every function throws UnavailableError. */
export interface BackfillStore {
  /** Returns false if another one of the topic is running. */
  insert(backfill: Backfill): Promise<boolean>;
  find(id: string): Promise<Backfill | undefined>;
  /** The latest ones, the latest first. */
  list(query: { readonly namespaces: Namespaces; readonly limit: number }): Promise<Backfill[]>;
  countRunning(): Promise<number>;
  /** Gives the oldest one that is due, and that nobody runs, to an owner until a time. */
  lease(owner: string, now: Date, until: Date): Promise<Backfill | undefined>;
  /** Extends the lease, and stores the progress. Returns false if it has ended, or has another owner. */
  keep(
    id: string,
    owner: string,
    kept: { readonly until: Date; readonly ranges?: Backfill["ranges"] },
  ): Promise<boolean>;
  /** Ends one that is running. Returns it as it is then. */
  end(id: string, end: BackfillEnd): Promise<Backfill | undefined>;
}

/** Which events are wanted. */
export type BackfillRequest = Pick<Backfill, "from" | "to">;

/** Takes requests for backfills. Every function throws UnavailableError, and a RejectionError. */
export interface BackfillRequests {
  /** The offsets that a backfill would read if it began now. */
  select(request: BackfillRequest): Promise<readonly OffsetRange[]>;
  /** Returns undefined if another one of the topic is running. */
  add(
    request: BackfillRequest,
    more: Pick<Backfill, "rate" | "requestedBy"> & { readonly topic: Topic },
  ): Promise<Backfill | undefined>;
}

/** Kafka's committed offsets of a backfill belong to this group; its transactional ids begin with it. */
export const toBackfillGroup = (routerGroup: string, { id }: Pick<Backfill, "id">): string =>
  `${routerGroup}-backfill-${id}`;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

export function toBackfillView({ topic, ranges = [], ...backfill }: Backfill): BackfillView {
  const { externalId, namespace, version } = topic;
  const { state, to, endedOn, requestedOn } = backfill;
  return {
    id: backfill.id,
    ...{ externalId, namespace, version, egressTopic: backfill.egressTopic },
    state: state === "running" && ranges.length === 0 ? "waiting" : state,
    reason: backfill.reason ?? null,
    from: backfill.from.toISOString(),
    to: to?.toISOString() ?? null,
    rate: backfill.rate,
    offsets: sum(ranges.map((range) => range.to - range.from)),
    done: sum(ranges.map((range) => range.position - range.from)),
    copies: sum(ranges.map(({ copies }) => copies)),
    requestedBy: backfill.requestedBy,
    requestedOn: requestedOn.toISOString(),
    endedOn: endedOn?.toISOString() ?? null,
  };
}

export const toBackfillEvent = (
  action: "backfill.requested" | "backfill.cancelled",
  { id, topic: { externalId } }: Backfill,
): AuditEvent => ({ action, id, externalId });
