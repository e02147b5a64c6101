import { getUpdateTime } from "@topicsync/lib/time";
import {
  getCombination,
  type ReplacedVersion,
  type RetiredTopic,
  type Topic,
  type TopicDefinition,
} from "./topic.ts";
import { orderUpdates, type TopicUpdate } from "./update-order.ts";

/** The writes of a batch. In this order (removals first, insertions last) they violate no unique index. */
export interface TopicWrites {
  /** For the history. Each stored topic that is updated or inserted again is among them, as it was. */
  readonly replaced: readonly ReplacedVersion[];
  /** Topics as they are stored. Some make room for others and are inserted again. */
  readonly removed: readonly Topic[];
  readonly retired: readonly RetiredTopic[];
  readonly updated: readonly Topic[];
  readonly created: readonly Topic[];
}

export const noWrites: TopicWrites = { replaced: [], removed: [], retired: [], updated: [], created: [] };

interface Replacement extends TopicUpdate, Pick<ReplacedVersion, "action"> {}

/** Stored topics, for announcements or users to change one after another. */
export class TopicSnapshot {
  readonly #byExternalId: Map<string, Topic>;
  /** The names of all topics, also of former ones: no combination is looked up under another name. */
  readonly #names: Set<string>;
  /** Built on first use: most batches repeat no name. */
  #byCombination: Map<string, Topic> | undefined;
  readonly #storedIds: ReadonlySet<string>;
  /** The stored version of each touched topic, by sys_id. */
  readonly #before = new Map<string, Topic>();
  /** External ids whose topic differs, or differed for a moment, from the stored one. */
  readonly #touched = new Set<string>();
  readonly #replaced: ReplacedVersion[] = [];
  readonly #retired: RetiredTopic[] = [];

  constructor(stored: readonly Topic[]) {
    this.#byExternalId = new Map(stored.map((topic) => [topic.externalId, topic]));
    this.#names = new Set(stored.map(({ name }) => name));
    this.#storedIds = new Set(stored.map(({ id }) => id));
  }

  findByExternalId(externalId: string): Topic | undefined {
    return this.#byExternalId.get(externalId);
  }

  findByCombination(definition: TopicDefinition): Topic | undefined {
    if (!this.#names.has(definition.name)) return undefined;
    this.#byCombination ??= new Map(
      [...this.#byExternalId.values()].map((topic) => [getCombination(topic), topic]),
    );
    return this.#byCombination.get(getCombination(definition));
  }

  add(topic: Topic): void {
    this.#touch(topic);
    this.#put(topic);
  }

  /** Replaces topics at once, so that they may exchange unique values. Sets the versions and the times. */
  replace(...replacements: readonly Replacement[]): void {
    for (const { from } of replacements) {
      this.#touch(from);
      this.#take(from);
    }
    for (const { from, to, action } of replacements) {
      const stored = this.#before.get(from.id);
      // All versions of a batch have one time: only the last of them becomes visible.
      const updatedOn = getUpdateTime(to.updatedOn, stored?.updatedOn);
      const next = { ...to, version: from.version + 1, updatedOn };
      this.#touched.add(next.externalId);
      this.#put(next);
      const isTransient = from !== stored;
      this.#replaced.push({ topic: from, endedBy: next.source, endedOn: updatedOn, action, isTransient });
    }
  }

  /** Sets the time: after that of the stored version. */
  retire({ topic, retiredOn, retiredBy }: RetiredTopic): void {
    this.#touch(topic);
    this.#take(topic);
    const stored = this.#before.get(topic.id);
    this.#retired.push({ topic, retiredOn: getUpdateTime(retiredOn, stored?.updatedOn), retiredBy });
  }

  /** The net effect on what was stored. */
  toWrites(): TopicWrites {
    const remaining = new Map(this.#before);
    const created: Topic[] = [];
    const changed: TopicUpdate[] = [];
    for (const externalId of this.#touched) {
      const topic = this.#byExternalId.get(externalId);
      if (topic === undefined) continue;
      const from = remaining.get(topic.id);
      remaining.delete(topic.id);
      if (from === undefined) created.push(topic);
      else changed.push({ from, to: topic });
    }
    const { updated, reinserted } = orderUpdates(changed);
    return {
      replaced: this.#replaced,
      removed: [...remaining.values(), ...reinserted.map(({ from }) => from)],
      retired: this.#retired,
      updated: updated.map(({ to }) => to),
      created: [...created, ...reinserted.map(({ to }) => to)],
    };
  }

  #put(topic: Topic): void {
    this.#byExternalId.set(topic.externalId, topic);
    this.#names.add(topic.name);
    this.#byCombination?.set(getCombination(topic), topic);
  }

  #take(topic: Topic): void {
    this.#byExternalId.delete(topic.externalId);
    this.#byCombination?.delete(getCombination(topic));
  }

  #touch(topic: Topic): void {
    this.#touched.add(topic.externalId);
    if (this.#storedIds.has(topic.id) && !this.#before.has(topic.id)) this.#before.set(topic.id, topic);
  }
}
