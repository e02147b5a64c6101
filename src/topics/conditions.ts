import { FilterSyntaxError } from "../matching/filter/filter.ts";
import { TopicConditions } from "../matching/filter/implication.ts";
import { readFilters, type FilterTexts } from "../matching/filter/topic-filters.ts";

/** Undefined for filters that are invalid, which match no event. */
export function tryReadConditions(filters: FilterTexts): TopicConditions | undefined {
  try {
    return new TopicConditions(readFilters(filters));
  } catch (error) {
    if (error instanceof FilterSyntaxError) return undefined;
    throw error;
  }
}
