import { RejectionError } from "@topicsync/lib/errors";
import type { Partition } from "@topicsync/kafka";
import type { Announcement } from "./announcement.ts";
import {
  createCombinationRejection,
  externalIdFault,
  toPreviousTopic,
  isSameDefinition,
  type AnnouncementSource,
  type Source,
  type Topic,
  type TopicDefinition,
} from "./topic.ts";
import { TopicSnapshot, type TopicWrites } from "./snapshot.ts";

export const announcementOutcomes = [
  "created",
  "updated",
  "adopted",
  "unchanged",
  "retired",
  "rejected",
] as const;

export type AnnouncementOutcome = (typeof announcementOutcomes)[number];

/** The outcome of a batch. */
export interface Decision {
  readonly writes: TopicWrites;
  readonly rejections: readonly { readonly offset: number; readonly rejection: RejectionError }[];
  readonly counts: Readonly<Record<AnnouncementOutcome, number>>;
  /** The external ids of tombstones without a topic: their sender may write keys in another form. */
  readonly unknown: readonly string[];
}

export interface Batch {
  readonly partition: Partition;
  /** The epoch of the log; see Position. */
  readonly epoch: number;
  /** In offset order. */
  readonly announcements: readonly Announcement[];
  /**
   * Stored topics. A topic that is missing here counts as absent. Where that is wrong, a unique index rejects
   * the write, except for tombstones: the topics that a batch retires must be included.
   */
  readonly stored: readonly Topic[];
  /**
   * External ids of stored topics that an announcement already gave the announced definition. Not in
   * `stored`.
   */
  readonly unchanged?: ReadonlySet<string>;
  readonly now: Date;
  readonly newId: () => string;
}

/**
 * Decides what a batch of announcements changes (the contract's table of announcements). The outcome is that
 * of applying one after another in offset order; the writes are the net effect, at most one for each stored
 * topic.
 */
export function decide(batch: Batch): Decision {
  const snapshot = new TopicSnapshot(batch.stored);
  const rejections: { offset: number; rejection: RejectionError }[] = [];
  const unknown: string[] = [];
  const counts = { created: 0, updated: 0, adopted: 0, unchanged: 0, retired: 0, rejected: 0 };

  for (const announcement of batch.announcements) {
    const outcome = apply(announcement, snapshot, batch);
    if (outcome instanceof RejectionError) {
      rejections.push({ offset: announcement.offset, rejection: outcome });
      counts.rejected += 1;
    } else {
      counts[outcome] += 1;
      if (announcement.kind === "retire" && snapshot.findByExternalId(announcement.externalId) === undefined)
        if (outcome === "unchanged") unknown.push(announcement.externalId);
    }
  }
  return { writes: snapshot.toWrites(), rejections, counts, unknown };
}

function apply(
  announcement: Announcement,
  snapshot: TopicSnapshot,
  batch: Batch,
): RejectionError | AnnouncementOutcome {
  switch (announcement.kind) {
    case "unusable":
      return announcement.rejection;
    case "define":
      return define(announcement.definition, announcement.offset, snapshot, batch);
    case "retire":
      return retire(announcement.externalId, announcement.offset, snapshot, batch);
  }
}

function define(
  definition: TopicDefinition,
  offset: number,
  snapshot: TopicSnapshot,
  batch: Batch,
): RejectionError | AnnouncementOutcome {
  const { now } = batch;
  if (batch.unchanged?.has(definition.externalId) === true) return "unchanged";
  const source = toSource(batch, offset);
  const current = snapshot.findByExternalId(definition.externalId);

  if (current !== undefined) {
    const same = isSameDefinition(current, definition);
    if (current.source.kind === "http") {
      if (!same) return createHttpTopicRejection(current);
      snapshot.replace({ from: current, to: { ...current, source, updatedOn: now }, action: "adopted" });
      return "adopted";
    }
    if (same || isLater(current.source, source)) return "unchanged";
  }

  const holder = snapshot.findByCombination(definition);
  if (holder !== undefined && holder.externalId !== definition.externalId) {
    return createCombinationRejection(definition, holder);
  }
  if (current === undefined) {
    snapshot.add({ ...definition, id: batch.newId(), version: 1, source, createdOn: now, updatedOn: now });
    return "created";
  }
  const previous = toPreviousTopic(current);
  const to = { ...current, ...definition, source, updatedOn: now, previous };
  snapshot.replace({ from: current, to, action: "changed" });
  return "updated";
}

function retire(
  externalId: string,
  offset: number,
  snapshot: TopicSnapshot,
  batch: Batch,
): RejectionError | AnnouncementOutcome {
  const retiredBy = toSource(batch, offset);
  const current = snapshot.findByExternalId(externalId);
  if (current === undefined) return "unchanged";
  if (current.source.kind === "http") return createHttpTopicRejection(current);
  if (isLater(current.source, retiredBy)) return "unchanged";
  snapshot.retire({ topic: current, retiredOn: batch.now, retiredBy });
  return "retired";
}

function createHttpTopicRejection(current: Topic): RejectionError {
  return new RejectionError(
    "EXTERNAL_ID_TAKEN",
    `The external id "${current.externalId}" belongs to a topic that was created over HTTP; the channel cannot change it.`,
    [externalIdFault],
  );
}

const toSource = ({ partition: { topic, partition }, epoch }: Batch, offset: number): AnnouncementSource => ({
  kind: "announcement",
  topic,
  partition,
  offset,
  ...(epoch === 1 ? {} : { epoch }),
});

/** Whether `stored` comes from a later record of the same partition, so that `arrived` was read before. */
function isLater(stored: Source, arrived: AnnouncementSource): boolean {
  return (
    stored.kind === "announcement" &&
    stored.topic === arrived.topic &&
    stored.partition === arrived.partition &&
    stored.epoch === arrived.epoch &&
    stored.offset > arrived.offset
  );
}
