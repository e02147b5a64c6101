import {
  toComparable,
  isComparison,
  createValueTest,
  parseNumber,
  isPatternOperator,
  type RootedCondition,
} from "@topicsync/filters";
import type { FilterWarning } from "../../schemas/topics/check.ts";
import type { EventSample, PathStatistics, ValueKind } from "./event-type.ts";
import { rankText, suggest } from "./suggestions.ts";
import { createWarning, formatSampled, printName, printOwn } from "./warning-text.ts";

interface Counts {
  readonly sample: EventSample;
  readonly statistics: readonly PathStatistics[];
  readonly count: (kind: ValueKind) => number;
}

/** Checks whether values of the kind that the condition compares with occurred. */
export function checkKind(
  condition: RootedCondition,
  { sample, statistics, count }: Counts,
): FilterWarning[] {
  const sum = (kind: "number" | "time"): number =>
    statistics.reduce((total, { texts }) => total + texts[kind], 0);
  const events = statistics.reduce((total, one) => total + one.events, 0);
  const name = `\`${printName(condition)}\``;
  const seen = formatSampled(events, sample);
  const warn = (message: string): FilterWarning[] => [
    createWarning("WRONG_KIND", condition, message, { suggestions: [], asks: false }),
  ];
  if (isComparison(condition.operator)) {
    const { number, instant } = toComparable(condition.values[0] ?? "");
    const hasNumbers = count("number") + sum("number") > 0;
    const hasTexts = count("string") > sum("number") + sum("time");
    const hasTimes = sum("time") > 0;
    const hasBooleans = count("boolean") > 0;
    const [wanted, occurs] =
      number !== undefined
        ? ["a number", hasNumbers]
        : instant !== undefined
          ? ["an RFC 3339 time", hasTimes]
          : [count("string") > 0 ? "another text" : "a text", hasTexts || hasBooleans];
    if (occurs) return [];
    const found = [
      ...(hasNumbers ? ["a number"] : []),
      ...(hasTimes ? ["a time"] : []),
      ...(hasTexts ? ["a text"] : []),
      ...(hasBooleans ? ["a boolean"] : []),
    ];
    const effect = instant === undefined ? "compares as strings" : "matches times only";
    return warn(
      `${name} was ${found.join(" or ")} ${seen}, but never ${wanted}: \`${printOwn(condition)}\` ${effect}`,
    );
  }
  if (condition.operator !== "eq" || count("string") > 0) return [];
  const unequal = condition.values.filter(
    (value) =>
      !(count("number") > 0 && parseNumber(value) !== undefined) &&
      !(count("boolean") > 0 && (value === "true" || value === "false")),
  );
  if (unequal.length === 0) return [];
  return warn(`${name} was ${listKinds(count)} ${seen}; \`${unequal[0] ?? ""}\` is not`);
}

const kindNames = { string: "a text", number: "a number", boolean: "a boolean" } as const;

const listKinds = (count: (kind: ValueKind) => number): string =>
  (["string", "number", "boolean"] as const)
    .filter((kind) => count(kind) > 0)
    .map((kind) => kindNames[kind])
    .join(" or ");

/** Checks values against those that occurred, if they are known. */
export function checkValues(
  condition: RootedCondition,
  { sample, statistics }: Pick<Counts, "sample" | "statistics">,
): FilterWarning[] {
  const { operator, values, member } = condition;
  if (operator !== "eq" && !isPatternOperator(operator)) return [];
  const valued = statistics.filter(({ kinds }) => kinds.string + kinds.number + kinds.boolean > 0);
  if (valued.some((one) => one.values === undefined)) return [];
  const known = [...new Set(valued.flatMap((one) => one.values ?? []))];
  const holds = (some: readonly string[]): boolean => {
    const test = createValueTest({ operator, values: some });
    return known.some((one) => test(one, true) || test(one, false));
  };
  const unknown = operator === "eq" ? values.filter((value) => !holds([value])) : holds(values) ? [] : values;
  const events = valued.reduce((total, one) => total + one.events, 0);
  const count = `${known.length} ${known.length === 1 ? "value" : "values"}`;
  return unknown.slice(0, 1).map((value) => {
    const isText = operator === "eq" || operator === "eqi";
    const meant = isText ? suggest(known, (candidate) => rankText(value, candidate)) : [];
    const not = isText ? `not \`${value}\`` : `none with \`${printOwn(condition)}\``;
    const message = `\`${printName(condition)}\` had ${count} ${formatSampled(events, sample)}, ${not}`;
    return createWarning("UNKNOWN_VALUE", condition, message, {
      suggestions: meant.map((text) => ({ filter: member, text })),
    });
  });
}
