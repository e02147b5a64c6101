/** The operators of TMF630, by the names that stand as a suffix of a path. */
export const operators = ["eq", "ne", "gt", "gte", "lt", "lte"] as const;

export type Operator = (typeof operators)[number];

/** The sign of each operator, which may stand instead of the suffix. */
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
  /** The names on the way to the member, decoded; at least one. */
  readonly path: readonly string[];
  readonly operator: Operator;
  /** Decoded, as written; at least one. Only "eq" (one of them) and "ne" (none of them) have several. */
  readonly values: readonly string[];
}

/** A filter: all of its conditions hold, those of one name with "eq" together as one. Without conditions it matches everything. */
export interface Filter {
  readonly conditions: readonly Condition[];
}

/** What a filter may be; more is refused. Far beyond what people write, and small enough to check at once. */
export const limits = { characters: 8_000, conditions: 100, values: 1_000, depth: 32 } as const;

/** The filter's text cannot be read. The message begins with a verb, such as "has no value after =". */
export class FilterSyntaxError extends Error {
  override readonly name = "FilterSyntaxError";
  /** What is wrong, without the place. */
  readonly problem: string;
  /** Where, counted from 0 in UTF-16 code units. */
  readonly position: number;
  /** Which of a topic's two filters it is, where that is known. */
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
