import { RefusalError } from "../lib/errors.ts";
import { insertTopic, requireReadableFilters } from "./insertion.ts";
import { externalIdFault, type AnnouncementSource, type RetiredTopic, type Topic } from "./topic.ts";
import type { TopicWrites } from "./snapshot.ts";
import { findActiveAndRetired, type TopicStores } from "./whereabouts.ts";

/** There is no topic of that external id, neither an active nor a disabled one. */
export class UnknownTopicError extends Error {
  override readonly name = "UnknownTopicError";
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
   * UnknownTopicError, UnavailableError, and a Refusal for a topic that was announced.
   */
  disable(externalId: string, user: string): Promise<Switched>;
  /**
   * Brings the topic back that was disabled last, under its sys_id. Throws UnknownTopicError, UnavailableError, and a RefusalError when
   * its unique values are taken, when a filter of it cannot be read, or when the channel retired it.
   */
  enable(externalId: string): Promise<Switched>;
}

export interface TopicSwitchOptions extends TopicStores {
  readonly now?: () => Date;
  /** Told what was written, once it is stored. */
  readonly changed?: (writes: Partial<TopicWrites>) => void;
}

/** Others change a topic now and then, but not again and again. */
const maxAttempts = 10;

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
    const { active, last } = await findActiveAndRetired({ store, retired }, [externalId]);
    return { active: active[0], last: last[0] };
  }

  /** Undefined when its external id was taken a moment ago and is not any more: somebody enabled and disabled it. */
  async function bringBack({ topic }: RetiredTopic): Promise<Switched | undefined> {
    requireReadableFilters(topic);
    try {
      const stored = await insertTopic(store, () => ({ ...topic, updatedOn: now() }));
      changed({ created: [stored] });
      return { topic: stored, changed: true };
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      const [holder] = await store.findByExternalIds([topic.externalId]);
      // Somebody else enabled it at the same time.
      if (holder?.id === topic.id) return { topic: holder, changed: false };
      if (holder === undefined && error.code === "DUPLICATE_EXTERNAL_ID") return undefined;
      throw error;
    }
  }

  return {
    async disable(externalId, user) {
      for (let tries = 1; tries <= maxAttempts; tries += 1) {
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
      throw changedByOthers(externalId, "disabled");
    },

    async enable(externalId) {
      for (let tries = 1; tries <= maxAttempts; tries += 1) {
        const { active, last } = await look(externalId);
        const disabled = last?.retiredBy.kind === "http" ? last : undefined;
        // Another one that took its external id is no reason to say that it is back: the store refuses it, with the reason.
        if (active !== undefined && (disabled === undefined || disabled.topic.id === active.id))
          return { topic: active, changed: false };
        if (last?.retiredBy.kind === "announcement") throw retiredByChannel(externalId, last.retiredBy);
        if (disabled === undefined) throw unknown(externalId);
        const done = await bringBack(disabled);
        if (done !== undefined) return done;
      }
      throw changedByOthers(externalId, "enabled");
    },
  };
}

const unknown = (externalId: string): UnknownTopicError =>
  new UnknownTopicError(`there is no topic with the external id "${externalId}"`);

const changedByOthers = (externalId: string, wanted: string): Error =>
  new Error(`the topic "${externalId}" was changed by others again and again; it is not ${wanted}`);

const ofChannel = (externalId: string, source: AnnouncementSource): RefusalError =>
  new RefusalError(
    "EXTERNAL_ID_TAKEN",
    `The topic "${externalId}" belongs to the channel, which announced it (${placeOf(source)}). ` +
      `To retire it, send a record with its external id as the key and without a value to ${source.topic}.`,
    [externalIdFault],
  );

const retiredByChannel = (externalId: string, source: AnnouncementSource): RefusalError =>
  new RefusalError(
    "EXTERNAL_ID_TAKEN",
    `The topic "${externalId}" belongs to the channel, which retired it (${placeOf(source)}). ` +
      "To bring it back, announce it again (`topicsync announce FILE`).",
    [externalIdFault],
  );

const placeOf = ({ topic, partition, offset }: AnnouncementSource): string =>
  `${topic}-${partition}-${offset}`;
