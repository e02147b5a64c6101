import { RefusalError } from "../lib/errors.ts";
import type { Announcement } from "./announcement.ts";
import {
  combinationRefusal,
  externalIdFault,
  toPreviousTopic,
  sameDefinition,
  type AnnouncementSource,
  type Source,
  type Topic,
  type TopicDefinition,
} from "./topic.ts";
import type { Partition } from "../sync/records.ts";
import { createTopicSnapshot, type TopicWrites, type TopicSnapshot } from "./snapshot.ts";

export type AnnouncementOutcome = "created" | "updated" | "adopted" | "unchanged" | "retired" | "refused";

/** The outcome of a batch. */
export interface Decision {
  readonly writes: TopicWrites;
  readonly refusals: readonly { readonly offset: number; readonly refusal: RefusalError }[];
  readonly counts: Readonly<Record<AnnouncementOutcome, number>>;
}

export interface Batch {
  readonly partition: Partition;
  /** The epoch of the log; see Position. */
  readonly epoch: number;
  /** In offset order. */
  readonly announcements: readonly Announcement[];
  /**
   * Stored topics. A topic that is missing here counts as absent: the unique indexes object when that is wrong, except for
   * tombstones, so the topics that a batch retires must be included.
   */
  readonly stored: readonly Topic[];
  readonly now: Date;
  readonly newId: () => string;
}

/**
 * Decides what a batch of announcements changes (the contract's table of announcements). The outcome is that of
 * applying one after another in offset order; the writes are the net effect, at most one for each stored topic.
 */
export function decide(batch: Batch): Decision {
  const view = createTopicSnapshot(batch.stored);
  const refusals: { offset: number; refusal: RefusalError }[] = [];
  const counts = { created: 0, updated: 0, adopted: 0, unchanged: 0, retired: 0, refused: 0 };

  for (const announcement of batch.announcements) {
    const outcome = apply(announcement, view, batch);
    if (outcome instanceof RefusalError) {
      refusals.push({ offset: announcement.offset, refusal: outcome });
      counts.refused += 1;
    } else {
      counts[outcome] += 1;
    }
  }
  return { writes: view.writes(), refusals, counts };
}

function apply(
  announcement: Announcement,
  view: TopicSnapshot,
  batch: Batch,
): RefusalError | AnnouncementOutcome {
  switch (announcement.kind) {
    case "unusable":
      return announcement.refusal;
    case "define":
      return define(announcement.definition, announcement.offset, view, batch);
    case "retire":
      return retire(announcement.externalId, announcement.offset, view, batch);
  }
}

function define(
  definition: TopicDefinition,
  offset: number,
  view: TopicSnapshot,
  batch: Batch,
): RefusalError | AnnouncementOutcome {
  const { now } = batch;
  const source = toSource(batch, offset);
  const current = view.byExternalId(definition.externalId);

  if (current !== undefined) {
    const same = sameDefinition(current, definition);
    if (current.source.kind === "http") {
      if (!same) return takenOverHttp(current);
      view.replace(current, { ...current, source, updatedOn: now });
      return "adopted";
    }
    if (same || cameLater(current.source, source)) return "unchanged";
  }

  const holder = view.byCombination(definition);
  if (holder !== undefined && holder.externalId !== definition.externalId) {
    return combinationRefusal(definition, holder);
  }
  if (current === undefined) {
    view.add({ ...definition, id: batch.newId(), source, createdOn: now, updatedOn: now });
    return "created";
  }
  const previous = toPreviousTopic(current);
  view.replace(current, { ...current, ...definition, source, updatedOn: now, previous });
  return "updated";
}

function retire(
  externalId: string,
  offset: number,
  view: TopicSnapshot,
  batch: Batch,
): RefusalError | AnnouncementOutcome {
  const retiredBy = toSource(batch, offset);
  const current = view.byExternalId(externalId);
  if (current === undefined) return "unchanged";
  if (current.source.kind === "http") return takenOverHttp(current);
  if (cameLater(current.source, retiredBy)) return "unchanged";
  view.retire({ topic: current, retiredOn: batch.now, retiredBy });
  return "retired";
}

function takenOverHttp(current: Topic): RefusalError {
  return new RefusalError(
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

/** Whether `stored` is of a later record of the same partition than `arrived`: an old record read once more. */
function cameLater(stored: Source, arrived: AnnouncementSource): boolean {
  return (
    stored.kind === "announcement" &&
    stored.topic === arrived.topic &&
    stored.partition === arrived.partition &&
    stored.epoch === arrived.epoch &&
    stored.offset > arrived.offset
  );
}
