import type { Announcement } from "../../src/topics/announcement.ts";
import type { Topic, TopicDefinition } from "../../src/topics/topic.ts";

/** What the contract's table of announcements says of one topic, written down as plainly as possible. */
export interface ModelTopic extends TopicDefinition {
  owner: "http" | "channel";
  /** The offset that made it as it is; -1 for HTTP. */
  offset: number;
}

export interface Model {
  topics: ModelTopic[];
  retired: { externalId: string; offset: number }[];
  refused: { offset: number; code: string }[];
}

/**
 * The oracle: a naive list and a loop, one announcement after another, sharing no code with `decide`. It knows one
 * partition.
 */
export function applyToModel(model: Model, announcements: readonly Announcement[]): void {
  for (const announcement of announcements) {
    const { offset } = announcement;
    if (announcement.kind === "unusable") {
      model.refused.push({ offset, code: announcement.refusal.code });
    } else if (announcement.kind === "retire") {
      const index = model.topics.findIndex((topic) => topic.externalId === announcement.externalId);
      const topic = model.topics[index];
      if (topic === undefined) continue;
      if (topic.owner === "http") model.refused.push({ offset, code: "EXTERNAL_ID_TAKEN" });
      else if (topic.offset <= offset) {
        model.topics.splice(index, 1);
        model.retired.push({ externalId: topic.externalId, offset });
      }
    } else {
      defineInModel(model, announcement.definition, offset);
    }
  }
}

function defineInModel(model: Model, definition: TopicDefinition, offset: number): void {
  const index = model.topics.findIndex((topic) => topic.externalId === definition.externalId);
  const topic = model.topics[index];
  const next: ModelTopic = { ...definition, owner: "channel", offset };
  const holder = model.topics.find((other, at) => at !== index && sameCombination(other, definition));
  if (topic === undefined) {
    if (holder === undefined) model.topics.push(next);
    else model.refused.push({ offset, code: "DUPLICATE_COMBINATION" });
    return;
  }
  const same = sameCombination(topic, definition);
  if (topic.owner === "http") {
    if (same) model.topics[index] = next;
    else model.refused.push({ offset, code: "EXTERNAL_ID_TAKEN" });
    return;
  }
  if (same || topic.offset > offset) return;
  if (holder === undefined) model.topics[index] = next;
  else model.refused.push({ offset, code: "DUPLICATE_COMBINATION" });
}

const sameCombination = (a: TopicDefinition, b: TopicDefinition): boolean =>
  a.name === b.name &&
  a.namespace === b.namespace &&
  a.headerQuery === b.headerQuery &&
  a.contentQuery === b.contentQuery;

/** A stored topic in the model's words. */
export const modelOf = (topic: Topic): ModelTopic => ({
  externalId: topic.externalId,
  name: topic.name,
  namespace: topic.namespace,
  headerQuery: topic.headerQuery,
  contentQuery: topic.contentQuery,
  owner: topic.source.kind === "http" ? "http" : "channel",
  offset: topic.source.kind === "http" ? -1 : topic.source.offset,
});
