/**
 * The comparisons of TMF630, and `ne`, named as in the suffix of a path (`a.gt=1`). Its regular expressions
 * are not among them.
 */
export const operators = ["eq", "ne", "gt", "gte", "lt", "lte"] as const;

export type Operator = (typeof operators)[number];

/** The signs that can be written instead of the suffixes. */
export const signs: Readonly<Record<Operator, string>> = {
  eq: "=",
  ne: "!=",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};

/** One condition of a filter: `a.b=1,2`. */
export interface Condition {
  /** Decoded names; at least one. */
  readonly path: readonly string[];
  readonly operator: Operator;
  /** Decoded; at least one. Only "eq" (any of them) and "ne" (none of them) have several. */
  readonly values: readonly string[];
}

/**
 * All conditions must hold; equalities of one name count as one. A filter without conditions matches
 * everything.
 */
export interface Filter {
  readonly conditions: readonly Condition[];
}

/** The limits of a filter: far beyond what people write, small enough to evaluate at once. */
export const limits = { characters: 8_000, conditions: 100, values: 1_000, depth: 32 } as const;

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

export const isOperator = (name: string): name is Operator => (operators as readonly string[]).includes(name);

/** Merges the equalities of each name into one condition: together they are OR (TMF630). */
export function mergeEquals(filter: Filter): Filter {
  const { conditions } = filter;
  const equals = conditions.filter(({ operator }) => operator === "eq");
  // Few filters repeat a name, and a million are read at the start.
  const hasRepeated = equals.some(({ path }, at) =>
    equals.some((other, i) => i < at && isSame(path, other.path)),
  );
  if (!hasRepeated) return filter;
  const byPath = Map.groupBy(equals, ({ path }) => JSON.stringify(path));
  const merged = [...byPath.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : { ...first, values: [first, ...others].flatMap(({ values }) => values) },
  );
  return { conditions: [...merged, ...conditions.filter(({ operator }) => operator !== "eq")] };
}

const isSame = (path: readonly string[], other: readonly string[]): boolean =>
  path.length === other.length && path.every((name, at) => name === other[at]);
