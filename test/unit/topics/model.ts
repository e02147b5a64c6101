import type { Topic, TopicDefinition } from "../../../src/topics/topic.ts";

/** A definition whose combination differs by its name only. */
export const createDefinition = (externalId: string, name = externalId): TopicDefinition => ({
  externalId,
  name,
  namespace: "",
  headerQuery: "",
  contentQuery: "",
});

export const sortById = <T extends { externalId: string }>(topics: readonly T[]): T[] =>
  topics.toSorted((a, b) => a.externalId.localeCompare(b.externalId));

/** The parts of an announcement that the model needs. */
export type ModelAnnouncement =
  | { readonly kind: "define"; readonly offset: number; readonly definition: TopicDefinition }
  | { readonly kind: "retire"; readonly offset: number; readonly externalId: string }
  | { readonly kind: "unusable"; readonly offset: number; readonly rejection: { readonly code: string } };

/** A topic in the contract's table of announcements. */
export interface ModelTopic extends TopicDefinition {
  owner: "http" | "channel";
  /** The offset of its last change; -1 for HTTP. */
  offset: number;
  /** The definition before its last change. */
  previous?: Omit<ModelTopic, "previous">;
}

export interface Model {
  /** By external id. */
  readonly topics: Map<string, ModelTopic>;
  /** The external id of the holder of each combination, by its key. */
  readonly holders: Map<string, string>;
  /** Retired topics, with the offset of the tombstone. */
  readonly retired: { topic: ModelTopic; offset: number }[];
  readonly rejected: { offset: number; code: string }[];
  /** What announcements have replaced. */
  readonly replaced: ModelVersion[];
}

/** A version of a topic that an announcement has replaced. */
export interface ModelVersion {
  readonly topic: ModelTopic;
  readonly offset: number;
  readonly action: "adopted" | "changed";
}

/** The outcome of an announcement; the code of the rejection if it is rejected. */
export type ModelOutcome = "created" | "updated" | "adopted" | "unchanged" | "retired" | { rejected: string };

/** Creates a model with these topics. */
export function createModel(topics: readonly ModelTopic[] = []): Model {
  const model: Model = { topics: new Map(), holders: new Map(), retired: [], rejected: [], replaced: [] };
  for (const topic of topics) putInModel(model, topic);
  return model;
}

/** The oracle: one announcement after another, sharing no code with `decide`. It knows one partition. */
export function applyToModel(model: Model, announcements: readonly ModelAnnouncement[]): void {
  for (const announcement of announcements) applyOneToModel(model, announcement);
}

/** Applies one announcement and returns its outcome. */
export function applyOneToModel(model: Model, announcement: ModelAnnouncement): ModelOutcome {
  const { offset } = announcement;
  const outcome = decideOutcome(model, announcement);
  if (typeof outcome === "object") model.rejected.push({ offset, code: outcome.rejected });
  return outcome;
}

/** Adds a topic, or replaces the one of its external id. */
export function putInModel(model: Model, topic: ModelTopic): void {
  takeFromModel(model, topic.externalId);
  model.topics.set(topic.externalId, topic);
  model.holders.set(toCombinationKey(topic), topic.externalId);
}

function takeFromModel(model: Model, externalId: string): void {
  const topic = model.topics.get(externalId);
  if (topic === undefined) return;
  model.topics.delete(externalId);
  model.holders.delete(toCombinationKey(topic));
}

function decideOutcome(model: Model, announcement: ModelAnnouncement): ModelOutcome {
  switch (announcement.kind) {
    case "unusable":
      return { rejected: announcement.rejection.code };
    case "retire":
      return retireInModel(model, announcement.externalId, announcement.offset);
    case "define":
      return defineInModel(model, announcement.definition, announcement.offset);
  }
}

function retireInModel(model: Model, externalId: string, offset: number): ModelOutcome {
  const topic = model.topics.get(externalId);
  if (topic === undefined) return "unchanged";
  if (topic.owner === "http") return { rejected: "EXTERNAL_ID_TAKEN" };
  if (topic.offset > offset) return "unchanged";
  takeFromModel(model, externalId);
  model.retired.push({ topic, offset });
  return "retired";
}

function defineInModel(model: Model, definition: TopicDefinition, offset: number): ModelOutcome {
  const topic = model.topics.get(definition.externalId);
  const holder = model.holders.get(toCombinationKey(definition));
  const next: ModelTopic = { ...definition, owner: "channel", offset };
  const same = topic !== undefined && toCombinationKey(topic) === toCombinationKey(definition);
  if (topic?.owner === "http") {
    if (!same) return { rejected: "EXTERNAL_ID_TAKEN" };
    putInModel(model, { ...topic, ...next });
    model.replaced.push({ topic, offset, action: "adopted" });
    return "adopted";
  }
  if (same || (topic !== undefined && topic.offset > offset)) return "unchanged";
  if (holder !== undefined) return { rejected: "DUPLICATE_COMBINATION" };
  if (topic === undefined) {
    putInModel(model, next);
    return "created";
  }
  const before = { ...topic };
  delete before.previous;
  putInModel(model, { ...next, previous: before });
  model.replaced.push({ topic, offset, action: "changed" });
  return "updated";
}

const toCombinationKey = ({ name, namespace, headerQuery, contentQuery }: TopicDefinition): string =>
  JSON.stringify([name, namespace, headerQuery, contentQuery]);

/** Converts a stored topic. */
export const toModelTopic = ({ previous, ...topic }: Topic): ModelTopic => ({
  ...toModelDefinition(topic),
  ...(previous && { previous: toModelDefinition({ ...previous, externalId: topic.externalId }) }),
});

const toModelDefinition = ({
  externalId,
  name,
  namespace,
  headerQuery,
  contentQuery,
  source,
}: TopicDefinition & Pick<Topic, "source">): Omit<ModelTopic, "previous"> => ({
  externalId,
  name,
  namespace,
  headerQuery,
  contentQuery,
  owner: source.kind === "http" ? "http" : "channel",
  offset: source.kind === "http" ? -1 : source.offset,
});
