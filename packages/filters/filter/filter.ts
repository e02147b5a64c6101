/** What a condition compares with. Each has a suffix of the same name (`a.gt=1`). */
export const operators = [
  "eq",
  "ne",
  "gt",
  "gte",
  "lt",
  "lte",
  "exists",
  "prefix",
  "suffix",
  "contains",
  "eqi",
  "like",
  "regex",
] as const;

export type Operator = (typeof operators)[number];

/** The other suffixes that are understood. */
const synonyms: Readonly<Record<string, Operator>> = {
  in: "eq",
  nin: "ne",
  startswith: "prefix",
  endswith: "suffix",
};

const bySuffix: ReadonlyMap<string, Operator> = new Map([
  ...operators.map((operator) => [operator, operator] as const),
  ...Object.entries(synonyms),
]);

/** The operator that a suffix stands for; undefined if it is not one. */
export const getOperator = (suffix: string): Operator | undefined => bySuffix.get(suffix);

export const suffixes: readonly string[] = [...bySuffix.keys()];

/** The signs that filters are printed with, instead of the suffixes. */
export const signs: Readonly<Partial<Record<Operator, string>>> = {
  eq: "=",
  ne: "!=",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};

/** Operators that compare with the order of values. They take one value. */
export type Comparison = "gt" | "gte" | "lt" | "lte";

export const isComparison = (operator: Operator): operator is Comparison =>
  operator === "gt" || operator === "gte" || operator === "lt" || operator === "lte";

/** One condition of a filter: `a.b=1,2`. */
export interface Condition {
  /**
   * Decoded names; at least one. Of a record's own data: `["$key"]`, `["$header", name]` or
   * `["$ce", attribute]`.
   */
  readonly path: readonly string[];
  /** Set if the path leads into the record that carries the event, not into the event. */
  readonly ofRecord?: true;
  readonly operator: Operator;
  /**
   * Decoded; at least one. Comparisons, "exists" ("true" or "false") and "regex" have one. Those of "like"
   * are patterns (like.ts).
   */
  readonly values: readonly string[];
}

/**
 * All conditions must hold; equalities of one name count as one. A filter without conditions matches
 * everything.
 */
export interface Filter {
  readonly conditions: readonly Condition[];
}

/**
 * The limits of a filter: far beyond what people write, small enough to evaluate at once. `instructions`: of
 * the patterns of a topic, some twenty usual ones or a large one; `requestInstructions`: of all topics that a
 * request names.
 */
export const limits = {
  characters: 8_000,
  conditions: 100,
  values: 1_000,
  depth: 32,
  pattern: 256,
  instructions: 2_000,
  requestInstructions: 100_000,
} as const;

/** A filter's text is invalid. */
export class FilterSyntaxError extends Error {
  override readonly name = "FilterSyntaxError";
  /** What is wrong, without the position. Begins with a verb: "has no value after =". */
  readonly problem: string;
  /** Counted from 0, in UTF-16 code units. */
  readonly position: number;
  /** Which filter of a topic it is, if known. */
  readonly member: FilterMember | undefined;

  constructor(problem: string, position: number, member?: FilterMember) {
    super(`${member ?? "The filter"} ${problem}, at character ${position + 1}.`);
    this.problem = problem;
    this.position = position;
    this.member = member;
  }
}

/** The two filters of a topic. */
export type FilterMember = "headerQuery" | "contentQuery";

/** Merges the equalities of each name into one condition: together they are OR (TMF630). */
export function mergeEquals(filter: Filter): Filter {
  const { conditions } = filter;
  // Few filters repeat a name, and a million are read at the start.
  if (!hasRepeatedEquals(conditions)) return filter;
  const equals = conditions.filter(({ operator }) => operator === "eq");
  const byPath = Map.groupBy(equals, (one) => equals.findIndex((other) => hasSamePath(one, other)));
  const merged = [...byPath.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : { ...first, values: [first, ...others].flatMap(({ values }) => values) },
  );
  return { conditions: [...merged, ...conditions.filter(({ operator }) => operator !== "eq")] };
}

function hasRepeatedEquals(conditions: readonly Condition[]): boolean {
  for (let at = 1; at < conditions.length; at += 1) {
    const one = conditions[at];
    if (one?.operator !== "eq") continue;
    for (let before = 0; before < at; before += 1) {
      const other = conditions[before];
      if (other?.operator === "eq" && hasSamePath(one, other)) return true;
    }
  }
  return false;
}

export function hasSamePath(one: Condition, other: Condition): boolean {
  const [path, otherPath] = [one.path, other.path];
  if (one.ofRecord !== other.ofRecord || path.length !== otherPath.length) return false;
  // Paths of one event often begin alike.
  for (let at = path.length - 1; at >= 0; at -= 1) if (path[at] !== otherPath[at]) return false;
  return true;
}
