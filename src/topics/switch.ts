import { Refusal } from "../errors.ts";
import { insertTopic, mustBeReadable } from "./insertion.ts";
import type { RetiredTopicStore, TopicStore } from "./ports.ts";
import { externalIdFault, type AnnouncementSource, type RetiredTopic, type Topic } from "./topic.ts";
import type { TopicWrites } from "./view.ts";

/** There is no topic of that external id, neither an active nor a disabled one. */
export class UnknownTopic extends Error {
  override readonly name = "UnknownTopic";
}

/** What came of switching a topic. */
export interface Switched {
  readonly topic: Topic;
  /** False when it was so already. */
  readonly changed: boolean;
}

/**
 * Takes topics that were created over HTTP or on the command line out of use, and brings them back. One that the channel
 * announced belongs to the channel, which would undo such a change when its log is read again.
 */
export interface TopicSwitch {
  /**
   * Moves a topic to the retired ones, for `user`: it is not picked any more, and its unique values are free. Throws
   * UnknownTopic, Unavailable, and a Refusal for a topic that was announced.
   */
  disable(externalId: string, user: string): Promise<Switched>;
  /**
   * Brings the topic back that was disabled last, under its sys_id. Throws UnknownTopic, Unavailable, and a Refusal when
   * its unique values are taken, when a filter of it cannot be read, or when the channel retired it.
   */
  enable(externalId: string): Promise<Switched>;
}

export interface TopicSwitchOptions {
  readonly store: TopicStore;
  readonly retired: RetiredTopicStore;
  readonly now?: () => Date;
  /** Told what was written, once it is stored. */
  readonly changed?: (writes: Partial<TopicWrites>) => void;
}

/** Others change a topic now and then, but not again and again. */
const mostAttempts = 10;

/** Makes the switch over a store. */
export function createTopicSwitch({
  store,
  retired,
  now = () => new Date(),
  changed = () => undefined,
}: TopicSwitchOptions): TopicSwitch {
  async function look(
    externalId: string,
  ): Promise<{ active: Topic | undefined; last: RetiredTopic | undefined }> {
    const [[active], [last]] = await Promise.all([
      store.findByExternalIds([externalId]),
      retired.lastOf([externalId]),
    ]);
    return { active, last };
  }

  async function bringBack({ topic }: RetiredTopic): Promise<Switched> {
    mustBeReadable(topic);
    try {
      const stored = await insertTopic(store, () => ({ ...topic, updatedOn: now() }));
      changed({ created: [stored] });
      return { topic: stored, changed: true };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const [holder] = await store.findByExternalIds([topic.externalId]);
      // Somebody else enabled it at the same time.
      if (holder?.id === topic.id) return { topic: holder, changed: false };
      throw error;
    }
  }

  return {
    async disable(externalId, user) {
      for (let tries = 1; tries <= mostAttempts; tries += 1) {
        const { active, last } = await look(externalId);
        if (active === undefined) {
          if (last === undefined) throw unknown(externalId);
          return { topic: last.topic, changed: false };
        }
        if (active.source.kind === "announcement") throw ofChannel(externalId, active.source);
        const one: RetiredTopic = {
          topic: active,
          retiredOn: now(),
          retiredBy: { kind: "http", user },
        };
        if (await retired.retire(one)) {
          changed({ retired: [one] });
          return { topic: active, changed: true };
        }
      }
      throw new Error(`the topic "${externalId}" was changed by others again and again; it is not disabled`);
    },

    async enable(externalId) {
      const { active, last } = await look(externalId);
      const disabled = last?.retiredBy.kind === "http" ? last : undefined;
      // Another one that took its external id is no reason to say that it is back: the store refuses it, with the reason.
      if (active !== undefined && (disabled === undefined || disabled.topic.id === active.id))
        return { topic: active, changed: false };
      if (disabled !== undefined) return bringBack(disabled);
      if (last?.retiredBy.kind === "announcement") throw retiredByChannel(externalId, last.retiredBy);
      throw unknown(externalId);
    },
  };
}

const unknown = (externalId: string): UnknownTopic =>
  new UnknownTopic(`there is no topic with the external id "${externalId}"`);

const ofChannel = (externalId: string, source: AnnouncementSource): Refusal =>
  new Refusal(
    "EXTERNAL_ID_TAKEN",
    `The topic "${externalId}" belongs to the channel, which announced it (${placeOf(source)}). ` +
      `To retire it, send a record with its external id as the key and without a value to ${source.topic}.`,
    [externalIdFault],
  );

const retiredByChannel = (externalId: string, source: AnnouncementSource): Refusal =>
  new Refusal(
    "EXTERNAL_ID_TAKEN",
    `The topic "${externalId}" belongs to the channel, which retired it (${placeOf(source)}). ` +
      "To bring it back, announce it again (`topicsync announce FILE`).",
    [externalIdFault],
  );

const placeOf = ({ topic, partition, offset }: AnnouncementSource): string =>
  `${topic}-${partition}-${offset}`;
