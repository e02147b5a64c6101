import type { PickableTopic } from "./live/feed.ts";
import { classifyChange, type FilterChange } from "../matching/filter/filter-change.ts";
import { compareTexts } from "../matching/filter/compare.ts";
import { FilterSyntaxError } from "../matching/filter/filter.ts";
import { TopicConditions } from "../matching/filter/implication.ts";
import { printCondition } from "../matching/filter/to-text.ts";
import { readFilters, type FilterTexts } from "../matching/filter/topic-filters.ts";
import type { TopicReader } from "./listing.ts";

/**
 * How the events of another topic relate to those of a topic: they are the same, contain or are contained in
 * them, or have none in common. Undecided: neither a proof nor a counterexample was found.
 */
export type Relation = "same" | "containing" | "contained" | "disjoint" | "undecided";

const relationByChange: Readonly<Record<Exclude<FilterChange, "changed">, Relation>> = {
  same: "same",
  widened: "containing",
  narrowed: "contained",
  disjoint: "disjoint",
  undecided: "undecided",
};

/** How many topics there are, and the first ones by external id. */
export interface RelatedTopics {
  total: number;
  topics: Pick<PickableTopic, "id" | "externalId" | "name" | "namespace">[];
}

export interface TopicRelations {
  /** Conditions that no event meets all at once, so that no event belongs to the topic; usually empty. */
  readonly impossible: readonly string[];
  readonly related: Readonly<Record<Relation, RelatedTopics>>;
  /** How many topics were skipped because their filters are invalid. */
  readonly invalid: number;
}

/** At most this many topics are listed. */
export const maxListedTopics = 20;

/** Compares a topic with all others. Throws FilterSyntaxError if its filters are invalid. */
export async function relateTopic(
  reader: Pick<TopicReader, "streamPickable">,
  topic: Pick<PickableTopic, "id"> & FilterTexts,
  onRead: (count: number) => void,
): Promise<TopicRelations> {
  const conditions = new TopicConditions(readFilters(topic));
  const impossible = conditions.findContradiction();
  const related: Record<Relation, RelatedTopics> = {
    same: { total: 0, topics: [] },
    containing: { total: 0, topics: [] },
    contained: { total: 0, topics: [] },
    disjoint: { total: 0, topics: [] },
    undecided: { total: 0, topics: [] },
  };
  let [read, invalid] = [0, 0];
  for await (const other of reader.streamPickable()) {
    read += 1;
    onRead(read);
    if (other.id === topic.id) continue;
    const otherConditions = tryReadConditions(other);
    if (otherConditions === undefined) {
      invalid += 1;
      continue;
    }
    // A topic that no event belongs to has none in common with others.
    const isImpossible = impossible !== undefined || otherConditions.findContradiction() !== undefined;
    const change = isImpossible ? "disjoint" : classifyChange(conditions, otherConditions);
    if (change !== "changed") addTopic(related[relationByChange[change]], other);
  }
  return { impossible: impossible?.map(printCondition) ?? [], related, invalid };
}

/** Undefined for filters that are invalid, which match no event. */
export function tryReadConditions(filters: FilterTexts): TopicConditions | undefined {
  try {
    return new TopicConditions(readFilters(filters));
  } catch (error) {
    if (error instanceof FilterSyntaxError) return undefined;
    throw error;
  }
}

function addTopic(found: RelatedTopics, { id, externalId, name, namespace }: PickableTopic): void {
  found.total += 1;
  const last = found.topics.at(-1)?.externalId ?? "";
  if (found.topics.length === maxListedTopics && compareTexts(externalId, last) > 0) return;
  found.topics.push({ id, externalId, name, namespace });
  found.topics.sort((a, b) => compareTexts(a.externalId, b.externalId));
  found.topics.splice(maxListedTopics);
}
