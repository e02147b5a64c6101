/** The filter language, comparison of filters, and the picker with what only topicsync itself needs. */
export { canonicalize } from "./filter/canonical.ts";
export { compareTexts, toComparable } from "./filter/compare.ts";
export {
  type Filter,
  type FilterMember,
  FilterSyntaxError,
  isComparison,
  mergeEquals,
} from "./filter/filter.ts";
export {
  type Scalar,
  createConditionTest,
  createValueTest,
  isNumber,
  isScalar,
  printScalar,
  readValues,
} from "./filter/match.ts";
export { LongNumber, parseEvent, parseNumber } from "./filter/numbers.ts";
export { parseFilter } from "./filter/parse.ts";
export type { EventRecord } from "./filter/record.ts";
export { describeFilter, printCondition, printFilter, printPath } from "./filter/to-text.ts";
export {
  type FilterTexts,
  type RootedCondition,
  findFilterErrors,
  findFilterFaults,
  matches,
  readFilters,
  readValidFilters,
} from "./filter/topic-filters.ts";
export { hasUse } from "./filter/uses.ts";
export {
  type FilterChange,
  TopicConditions,
  areImplied,
  classifyChange,
  compareFilters,
  tryReadConditions,
} from "./implication/implication.ts";
export { PatternBudget } from "./patterns/pattern-budget.ts";
export { isPatternOperator } from "./patterns/patterns.ts";
export { type ConditionResult, explain } from "./picker/explain.ts";
export { type MatchCount, createCountingPicker } from "./picker/picker.ts";
