import { getUpdateTime } from "../lib/update-time.ts";
import { getCombination, type RetiredTopic, type Topic, type TopicDefinition } from "./topic.ts";

/** The writes of a batch. In this order (removals first, insertions last) they violate no unique index. */
export interface TopicWrites {
  readonly removed: readonly Topic[];
  readonly retired: readonly RetiredTopic[];
  readonly updated: readonly Topic[];
  readonly created: readonly Topic[];
}

/** Stored topics, for announcements to change one after another. */
export class TopicSnapshot {
  readonly #byExternalId: Map<string, Topic>;
  /** Built on first use: a log that is read again needs none. */
  #byCombination: Map<string, Topic> | undefined;
  readonly #storedIds: ReadonlySet<string>;
  /** The stored version of each touched topic, by sys_id. */
  readonly #before = new Map<string, Topic>();
  /** External ids whose topic differs, or differed for a moment, from the stored one. */
  readonly #touched = new Set<string>();
  readonly #retired: RetiredTopic[] = [];

  constructor(stored: readonly Topic[]) {
    this.#byExternalId = new Map(stored.map((topic) => [topic.externalId, topic]));
    this.#storedIds = new Set(stored.map(({ id }) => id));
  }

  findByExternalId(externalId: string): Topic | undefined {
    return this.#byExternalId.get(externalId);
  }

  findByCombination(definition: TopicDefinition): Topic | undefined {
    this.#byCombination ??= new Map(
      [...this.#byExternalId.values()].map((topic) => [getCombination(topic), topic]),
    );
    return this.#byCombination.get(getCombination(definition));
  }

  add(topic: Topic): void {
    this.#touch(topic);
    this.#put(topic);
  }

  replace(from: Topic, to: Topic): void {
    this.#touch(from);
    this.#take(from);
    this.#put(to);
  }

  retire(retired: RetiredTopic): void {
    this.#touch(retired.topic);
    this.#take(retired.topic);
    this.#retired.push(retired);
  }

  /** The net effect on what was stored. */
  toWrites(): TopicWrites {
    const remaining = new Map(this.#before);
    const created: Topic[] = [];
    const changed: { from: Topic; to: Topic }[] = [];
    for (const externalId of this.#touched) {
      const topic = this.#byExternalId.get(externalId);
      if (topic === undefined) continue;
      const from = remaining.get(topic.id);
      remaining.delete(topic.id);
      if (from === undefined) created.push(topic);
      else
        changed.push({ from, to: { ...topic, updatedOn: getUpdateTime(topic.updatedOn, from.updatedOn) } });
    }
    const { updated, reinserted } = orderUpdates(changed);
    return {
      removed: [...remaining.values(), ...reinserted],
      retired: this.#retired,
      updated,
      created: [...created, ...reinserted],
    };
  }

  #put(topic: Topic): void {
    this.#byExternalId.set(topic.externalId, topic);
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

/** Updates in an order in which each finds its combination free. */
interface OrderedUpdates {
  readonly updated: readonly Topic[];
  /** One topic of each ring that exchanged combinations: removed first and inserted again last. */
  readonly reinserted: readonly Topic[];
}

/**
 * Orders updates so that they violate no unique index: the topic that gives up a combination goes before the
 * one that takes it. Rings (A takes B's combination while B takes A's) are opened by removing one member and
 * inserting it again at the end.
 */
function orderUpdates(changes: readonly { readonly from: Topic; readonly to: Topic }[]): OrderedUpdates {
  const holders = new Map(changes.map((change) => [getCombination(change.from), change]));
  const updated: Topic[] = [];
  const reinserted: Topic[] = [];
  const placed = new Set<string>();

  for (const start of changes) {
    // Follows each wanted combination to its holder until one is free, then applies the chain backwards.
    const chain: (typeof start)[] = [];
    const inChain = new Set<string>();
    for (let next: typeof start | undefined = start; next !== undefined && !placed.has(next.to.id);) {
      if (inChain.has(next.to.id)) {
        // A chain can only return to its start: two topics never take the same combination.
        reinserted.push(next.to);
        placed.add(next.to.id);
        break;
      }
      chain.push(next);
      inChain.add(next.to.id);
      const wanted = getCombination(next.to);
      next = wanted === getCombination(next.from) ? undefined : holders.get(wanted);
    }
    for (const change of chain.toReversed()) {
      if (placed.has(change.to.id)) continue;
      updated.push(change.to);
      placed.add(change.to.id);
    }
  }
  return { updated, reinserted };
}
