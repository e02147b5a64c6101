/**
 * The topic picker as a library, without MongoDB and Kafka: `import { createPicker } from
 * "topicsync/picker"`.
 */
export {
  FilterSyntaxError,
  type Filter,
  type FilterMember,
  type Condition,
  type Operator,
} from "../filter/filter.ts";
export { LongNumber, parseEvent } from "../filter/numbers.ts";
export type { EventRecord } from "../filter/record.ts";
export { canonicalize } from "../filter/canonical.ts";
export { parseFilter } from "../filter/parse.ts";
export { printFilter } from "../filter/to-text.ts";
export type { FilterTexts } from "../filter/topic-filters.ts";
export { createPicker, type Picker } from "./picker.ts";
