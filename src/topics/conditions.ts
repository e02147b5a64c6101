import {
  classifyChange,
  FilterSyntaxError,
  TopicConditions,
  readFilters,
  type FilterChange,
  type FilterTexts,
} from "@topicsync/filters";

/** Undefined for filters that are invalid, which match no event. */
export function tryReadConditions(filters: FilterTexts): TopicConditions | undefined {
  try {
    return new TopicConditions(readFilters(filters));
  } catch (error) {
    if (error instanceof FilterSyntaxError) return undefined;
    throw error;
  }
}

/** What a change of the filters does to the events; undefined if the old or the new ones are invalid. */
export function classifyFilters(before: FilterTexts, after: FilterTexts): FilterChange | undefined {
  const [old, next] = [tryReadConditions(before), tryReadConditions(after)];
  return old && next && classifyChange(old, next);
}
