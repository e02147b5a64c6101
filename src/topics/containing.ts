import {
  areImplied,
  TopicConditions,
  printCondition,
  readFilters,
  tryReadConditions,
  type FilterTexts,
} from "@topicsync/filters";
import { elapsed } from "@topicsync/lib/platform";
import { Turns } from "@topicsync/lib/concurrency/turns";
import type { PickableTopic } from "./live/feed.ts";
import type { LiveTopicIndex } from "./live/live-topic-index.ts";
import type { Namespaces } from "../users/rights.ts";

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

/** Each comparison takes time in proportion to both topics, for which a request does not wait long. */
const maxCompared = 50;
const maxComparingMs = 100;

/**
 * Finds the topics in some namespaces that have all events of a topic. They are among the topics of any event
 * of it, so that the others need not be read. Compares at most 50 of them, for at most 100 ms. Throws
 * FilterSyntaxError if its filters are invalid, and what `pick` throws.
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
  const turns = new Turns();
  const until = elapsed() + maxComparingMs;
  const candidates = topics.filter(({ id }) => id !== topic.id);
  let compared = 0;
  for (const other of candidates) {
    if (compared === maxCompared || (compared > 0 && elapsed() >= until)) break;
    compared += 1;
    const others = tryReadConditions(other);
    if (others !== undefined && areImplied(conditions, others))
      (areImplied(others, conditions) ? same : containing).push(other);
    if (turns.isOver()) await turns.next();
  }
  const isComplete = topics.length === total && compared === candidates.length;
  return { impossible, same, containing, isComplete };
}
