import { FilterSyntaxError, TopicConditions, readFilters, type FilterTexts } from "@topicsync/filters";

/** Undefined for filters that are invalid, which match no event. */
export function tryReadConditions(filters: FilterTexts): TopicConditions | undefined {
  try {
    return new TopicConditions(readFilters(filters));
  } catch (error) {
    if (error instanceof FilterSyntaxError) return undefined;
    throw error;
  }
}
