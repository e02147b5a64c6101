import { Refusal } from "../errors.ts";
import type { Announcement } from "./announcement.ts";
import { orderUpdates } from "./order.ts";
import {
  combinationOf,
  combinationRefusal,
  externalIdFault,
  sameDefinition,
  type AnnouncementSource,
  type Partition,
  type RetiredTopic,
  type Source,
  type Topic,
  type TopicDefinition,
} from "./topic.ts";

/** The writes of a batch, in the order in which no unique index objects: removals, retirements, updates, insertions. */
export interface TopicWrites {
  readonly removed: readonly Topic[];
  readonly retired: readonly RetiredTopic[];
  readonly updated: readonly Topic[];
  readonly created: readonly Topic[];
}

export type Outcome = "created" | "updated" | "adopted" | "unchanged" | "retired" | "refused";

/** What is to be done about a batch. */
export interface Decision {
  readonly writes: TopicWrites;
  readonly refusals: readonly { readonly offset: number; readonly refusal: Refusal }[];
  readonly counts: Readonly<Record<Outcome, number>>;
}

export interface Batch {
  readonly partition: Partition;
  /** Which log of the partition they are of; see Position. */
  readonly log: number;
  /** In offset order. */
  readonly announcements: readonly Announcement[];
  /**
   * Stored topics. Whatever is not among them is taken for absent: the unique indexes object when that is wrong, except
   * for tombstones, so the topics that a batch retires must be among them.
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
  const view = createView(batch.stored);
  const refusals: { offset: number; refusal: Refusal }[] = [];
  const counts = { created: 0, updated: 0, adopted: 0, unchanged: 0, retired: 0, refused: 0 };

  for (const announcement of batch.announcements) {
    const outcome = apply(announcement, view, batch);
    if (outcome instanceof Refusal) {
      refusals.push({ offset: announcement.offset, refusal: outcome });
      counts.refused += 1;
    } else {
      counts[outcome] += 1;
    }
  }
  return { writes: view.writes(), refusals, counts };
}

function apply(announcement: Announcement, view: View, batch: Batch): Refusal | Outcome {
  switch (announcement.kind) {
    case "unusable":
      return announcement.refusal;
    case "define":
      return define(announcement.definition, announcement.offset, view, batch);
    case "retire":
      return retire(announcement.externalId, announcement.offset, view, batch);
  }
}

function define(definition: TopicDefinition, offset: number, view: View, batch: Batch): Refusal | Outcome {
  const { now } = batch;
  const source = sourceOf(batch, offset);
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
  view.replace(current, { ...current, ...definition, source, updatedOn: now });
  return "updated";
}

function retire(externalId: string, offset: number, view: View, batch: Batch): Refusal | Outcome {
  const retiredBy = sourceOf(batch, offset);
  const current = view.byExternalId(externalId);
  if (current === undefined) return "unchanged";
  if (current.source.kind === "http") return takenOverHttp(current);
  if (cameLater(current.source, retiredBy)) return "unchanged";
  view.retire({ topic: current, retiredOn: batch.now, retiredBy });
  return "retired";
}

function takenOverHttp(current: Topic): Refusal {
  return new Refusal(
    "EXTERNAL_ID_TAKEN",
    `The external id "${current.externalId}" belongs to a topic that was created over HTTP; the channel cannot change it.`,
    [externalIdFault],
  );
}

const sourceOf = ({ partition, log }: Batch, offset: number): AnnouncementSource => ({
  kind: "announcement",
  ...partition,
  offset,
  ...(log === 1 ? {} : { log }),
});

/** Whether `stored` is of a later record of the same partition than `arrived`: an old record read once more. */
function cameLater(stored: Source, arrived: AnnouncementSource): boolean {
  return (
    stored.kind === "announcement" &&
    stored.topic === arrived.topic &&
    stored.partition === arrived.partition &&
    stored.log === arrived.log &&
    stored.offset > arrived.offset
  );
}

/** The topics as they stand after the announcements applied so far. */
type View = ReturnType<typeof createView>;

function createView(stored: readonly Topic[]) {
  const ids = new Map<string, Topic>();
  const combinations = new Map<string, Topic>();
  /** The stored topics that were touched, by their sys_id, as they were. */
  const before = new Map<string, Topic>();
  const retired: RetiredTopic[] = [];

  function put(topic: Topic): void {
    ids.set(topic.externalId, topic);
    combinations.set(combinationOf(topic), topic);
  }
  function take(topic: Topic): void {
    ids.delete(topic.externalId);
    combinations.delete(combinationOf(topic));
  }
  const known = new Set<string>();
  for (const topic of stored) {
    known.add(topic.id);
    put(topic);
  }
  /** External ids whose topic differs from what is stored. */
  const touched = new Set<string>();
  function touch(topic: Topic): void {
    touched.add(topic.externalId);
    if (known.has(topic.id) && !before.has(topic.id)) before.set(topic.id, topic);
  }

  return {
    byExternalId: (externalId: string) => ids.get(externalId),
    byCombination: (definition: TopicDefinition) => combinations.get(combinationOf(definition)),
    add(topic: Topic): void {
      touch(topic);
      put(topic);
    },
    replace(from: Topic, to: Topic): void {
      touch(from);
      take(from);
      put(to);
    },
    retire(one: RetiredTopic): void {
      touch(one.topic);
      take(one.topic);
      retired.push(one);
    },
    /** The net effect on what was stored. */
    writes(): TopicWrites {
      const remaining = new Map(before);
      const created: Topic[] = [];
      const changed: { from: Topic; to: Topic }[] = [];
      for (const externalId of touched) {
        const topic = ids.get(externalId);
        if (topic === undefined) continue;
        const from = remaining.get(topic.id);
        remaining.delete(topic.id);
        if (from === undefined) created.push(topic);
        else changed.push({ from, to: topic });
      }
      const { updated, reinserted } = orderUpdates(changed);
      return {
        removed: [...remaining.values(), ...reinserted],
        retired,
        updated,
        created: [...created, ...reinserted],
      };
    },
  };
}
