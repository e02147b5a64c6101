import type { PickableTopic } from "../matching/feed.ts";
import type { LiveTopicIndex } from "../matching/live-topic-index.ts";
import { areImplied, TopicConditions } from "../matching/filter/implication.ts";
import { printCondition } from "../matching/filter/to-text.ts";
import { readFilters, type FilterTexts } from "../matching/filter/topic-filters.ts";
import type { Namespaces } from "../users/rights.ts";
import { tryReadConditions } from "./relations.ts";

interface ContainingTopics {
  /** Conditions that no event meets all at once; usually empty. */
  readonly impossible: readonly string[];
  /** Topics with the same events, by external id. */
  readonly same: readonly PickableTopic[];
  /** Topics with all of these events, and others. */
  readonly containing: readonly PickableTopic[];
  /** False if there may be more. */
  readonly isComplete: boolean;
}

/**
 * Finds the topics in some namespaces that have all events of a topic. They are among the topics of any event
 * of it, so that the others need not be read. Throws FilterSyntaxError if its filters are invalid, and what
 * `pick` throws.
 */
export async function findContaining(
  index: Pick<LiveTopicIndex, "pick">,
  topic: Pick<PickableTopic, "id"> & FilterTexts,
  namespaces: Namespaces,
): Promise<ContainingTopics> {
  const conditions = new TopicConditions(readFilters(topic));
  const impossible = conditions.findContradiction()?.map(printCondition) ?? [];
  const none = { impossible, same: [], containing: [] };
  if (impossible.length > 0) return { ...none, isComplete: true };
  const witness = conditions.createWitness();
  if (witness === undefined) return { ...none, isComplete: false };
  const { topics, total } = await index.pick(witness.event, witness.record, namespaces);
  const [same, containing]: [PickableTopic[], PickableTopic[]] = [[], []];
  for (const other of topics) {
    const others = other.id === topic.id ? undefined : tryReadConditions(other);
    if (others === undefined || !areImplied(conditions, others)) continue;
    (areImplied(others, conditions) ? same : containing).push(other);
  }
  return { impossible, same, containing, isComplete: topics.length === total };
}
