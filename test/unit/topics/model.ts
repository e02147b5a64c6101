import type { Topic, TopicDefinition } from "../../../src/topics/topic.ts";

/** An announcement, of which the model needs no more than this. */
export type ModelAnnouncement =
  | { readonly kind: "define"; readonly offset: number; readonly definition: TopicDefinition }
  | { readonly kind: "retire"; readonly offset: number; readonly externalId: string }
  | { readonly kind: "unusable"; readonly offset: number; readonly refusal: { readonly code: string } };

/** What the contract's table of announcements says of one topic, written down as plainly as possible. */
export interface ModelTopic extends TopicDefinition {
  owner: "http" | "channel";
  /** The offset that made it as it is; -1 for HTTP. */
  offset: number;
  /** What it was before its definition changed last. */
  previous?: Omit<ModelTopic, "previous">;
}

export interface Model {
  /** By external id. */
  readonly topics: Map<string, ModelTopic>;
  /** The external id of whoever holds a combination, by the combination's text. */
  readonly holders: Map<string, string>;
  /** Topics as they were, and the tombstone's offset. */
  readonly retired: { topic: ModelTopic; offset: number }[];
  readonly refused: { offset: number; code: string }[];
}

/** What one announcement comes to; a refusal's code when it is refused. */
export type ModelOutcome = "created" | "updated" | "adopted" | "unchanged" | "retired" | { refused: string };

/** A model that begins with these topics. */
export function modelWith(topics: readonly ModelTopic[] = []): Model {
  const model: Model = { topics: new Map(), holders: new Map(), retired: [], refused: [] };
  for (const topic of topics) putInModel(model, topic);
  return model;
}

/** The oracle: one announcement after another, sharing no code with `decide`. It knows one partition. */
export function applyToModel(model: Model, announcements: readonly ModelAnnouncement[]): void {
  for (const announcement of announcements) applyOneToModel(model, announcement);
}

/** Applies one announcement and tells what it came to. */
export function applyOneToModel(model: Model, announcement: ModelAnnouncement): ModelOutcome {
  const { offset } = announcement;
  const outcome = outcomeOf(model, announcement);
  if (typeof outcome === "object") model.refused.push({ offset, code: outcome.refused });
  return outcome;
}

/** Puts a topic in, in place of what was there under its external id. */
export function putInModel(model: Model, topic: ModelTopic): void {
  takeFromModel(model, topic.externalId);
  model.topics.set(topic.externalId, topic);
  model.holders.set(combinationText(topic), topic.externalId);
}

function takeFromModel(model: Model, externalId: string): void {
  const topic = model.topics.get(externalId);
  if (topic === undefined) return;
  model.topics.delete(externalId);
  model.holders.delete(combinationText(topic));
}

function outcomeOf(model: Model, announcement: ModelAnnouncement): ModelOutcome {
  switch (announcement.kind) {
    case "unusable":
      return { refused: announcement.refusal.code };
    case "retire":
      return retireInModel(model, announcement.externalId, announcement.offset);
    case "define":
      return defineInModel(model, announcement.definition, announcement.offset);
  }
}

function retireInModel(model: Model, externalId: string, offset: number): ModelOutcome {
  const topic = model.topics.get(externalId);
  if (topic === undefined) return "unchanged";
  if (topic.owner === "http") return { refused: "EXTERNAL_ID_TAKEN" };
  if (topic.offset > offset) return "unchanged";
  takeFromModel(model, externalId);
  model.retired.push({ topic, offset });
  return "retired";
}

function defineInModel(model: Model, definition: TopicDefinition, offset: number): ModelOutcome {
  const topic = model.topics.get(definition.externalId);
  const holder = model.holders.get(combinationText(definition));
  const next: ModelTopic = { ...definition, owner: "channel", offset };
  const same = topic !== undefined && combinationText(topic) === combinationText(definition);
  if (topic?.owner === "http") {
    if (!same) return { refused: "EXTERNAL_ID_TAKEN" };
    putInModel(model, { ...topic, ...next });
    return "adopted";
  }
  if (same || (topic !== undefined && topic.offset > offset)) return "unchanged";
  if (holder !== undefined) return { refused: "DUPLICATE_COMBINATION" };
  if (topic === undefined) {
    putInModel(model, next);
    return "created";
  }
  const before = { ...topic };
  delete before.previous;
  putInModel(model, { ...next, previous: before });
  return "updated";
}

const combinationText = ({ name, namespace, headerQuery, contentQuery }: TopicDefinition): string =>
  JSON.stringify([name, namespace, headerQuery, contentQuery]);

/** A stored topic in the model's words. */
export const modelOf = ({ previous, ...topic }: Topic): ModelTopic => ({
  ...wordsOf(topic),
  ...(previous && { previous: wordsOf({ ...previous, externalId: topic.externalId }) }),
});

const wordsOf = ({
  externalId,
  name,
  namespace,
  headerQuery,
  contentQuery,
  source,
}: TopicDefinition & Pick<Topic, "source">): Omit<ModelTopic, "previous"> => ({
  ...{ externalId, name, namespace, headerQuery, contentQuery },
  owner: source.kind === "http" ? "http" : "channel",
  offset: source.kind === "http" ? -1 : source.offset,
});
