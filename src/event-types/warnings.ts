import type { FilterWarning } from "../../schemas/topic-check.ts";
import { toComparable } from "../matching/filter/compare.ts";
import { isComparison, type FilterMember } from "../matching/filter/filter.ts";
import { createConditionTest, createValueTest } from "../matching/filter/match.ts";
import { parseNumber } from "../matching/filter/numbers.ts";
import { isPatternOperator } from "../matching/filter/patterns.ts";
import { printCondition } from "../matching/filter/to-text.ts";
import {
  readValidFilters,
  type FilterTexts,
  type RootedCondition,
} from "../matching/filter/topic-filters.ts";
import type { PathStatistics, ValueKind } from "./event-type.ts";
import { getEventType, type EventKnowledge, type KnownPath, type KnownType } from "./knowledge.ts";
import { rankPath, rankText, suggest } from "./suggestions.ts";
import { printNames, toFilterPath } from "./view.ts";

type Suggestion = FilterWarning["suggestions"][number];

/** Of one topic: suggestions take time. */
const maxWarnings = 20;

/** Compares the filters of a topic with what is known about events. Invalid filters have no warnings. */
export function findFilterWarnings(texts: FilterTexts, knowledge: EventKnowledge): FilterWarning[] {
  if (knowledge.types.length === 0) return [];
  const conditions = readValidFilters(texts).filter(
    ({ ofRecord, operator, values }) => !ofRecord && !(operator === "exists" && values[0] === "false"),
  );
  const onTypes = conditions.filter(isOnType);
  const warnings: FilterWarning[] = [];
  const types = new Set(knowledge.types.filter((type) => hasType(type, onTypes)));
  for (const condition of onTypes) {
    for (const { warning, meant } of checkTypes(condition, knowledge)) {
      warnings.push(warning);
      if (meant !== undefined) types.add(meant);
    }
  }
  if (types.size > 0)
    for (const condition of conditions)
      if (warnings.length < maxWarnings && !isOnType(condition))
        warnings.push(...checkPath(condition, { types: [...types], isEvery: onTypes.length === 0 }));
  return warnings.slice(0, maxWarnings);
}

const isOnType = ({ path }: RootedCondition): boolean => path.length === 1 && path[0] === "eventType";

const hasType = (type: KnownType, conditions: readonly RootedCondition[]): boolean =>
  conditions.every((condition) => createConditionTest(condition)({ eventType: getEventType(type) }));

interface TypeWarning {
  readonly warning: FilterWarning;
  /** The type that was probably meant. */
  readonly meant: KnownType | undefined;
}

function checkTypes(condition: RootedCondition, { types, hasAllTypes }: EventKnowledge): TypeWarning[] {
  if (!hasAllTypes) return [];
  const { operator, values } = condition;
  const names = types.flatMap((type) => getEventType(type) ?? []);
  const total = types.reduce((sum, { events }) => sum + events, 0);
  const seen = `in ${formatNumber(total)} events since ${formatDay(types)}`;
  const warn = (what: string, meant: readonly KnownType[]): TypeWarning => ({
    warning: createWarning("UNKNOWN_EVENT_TYPE", condition, `No event of ${what} ${seen}`, {
      suggestions: meant.map(({ name }) => ({ filter: condition.member, text: name })),
      share: (meant[0]?.events ?? 0) / total,
    }),
    meant: meant[0],
  });
  if (operator === "eq")
    return values
      .filter((value) => !names.includes(value))
      .slice(0, maxWarnings)
      .map((value) => {
        const typed = types.filter((type) => getEventType(type) !== undefined);
        const meant = suggest(
          typed,
          ({ name }) => rankText(value, name),
          ({ events }) => events,
        );
        return warn(`type \`${value}\``, meant);
      });
  if (!isPatternOperator(operator)) return [];
  const test = createValueTest(condition);
  return names.some((name) => test(name, false)) ? [] : [warn(`a type with \`${printOwn(condition)}\``, [])];
}

interface Evidence {
  /** The types that the filter selects. */
  readonly types: readonly KnownType[];
  /** Whether it selects all. */
  readonly isEvery: boolean;
}

function checkPath(condition: RootedCondition, evidence: Evidence): FilterWarning[] {
  const found = evidence.types.map((type) => type.find(condition.path));
  if (found.includes("open")) return [];
  const known = found.filter((one): one is KnownPath => one !== undefined && one !== "open");
  if (known.length === 0) return [createUnknownPath(condition, evidence)];
  if (condition.operator === "exists") return [];
  const statistics = known.flatMap((one) => one.statistics ?? []);
  const count = (kind: ValueKind): number => statistics.reduce((sum, { kinds }) => sum + kinds[kind], 0);
  if (count("string") + count("number") + count("boolean") === 0)
    return count("object") > 0 ? [createNotAValue(condition, known, count("object"))] : [];
  return [...checkKind(condition, { statistics, count }), ...checkValues(condition, statistics)].slice(0, 1);
}

function createUnknownPath(condition: RootedCondition, evidence: Evidence): FilterWarning {
  const { path, member } = condition;
  const other = path[0] === "event" && path.length > 1 ? path.slice(1) : ["event", ...path];
  const name = `\`${printName(condition)}\``;
  if (evidence.types.some((type) => typeof type.find(other) === "object")) {
    const { filter, name: text } = toFilterPath(other);
    const [is, use] =
      filter === "headerQuery"
        ? ["a member of the event, not of its `event` object", "headerQuery"]
        : ["a member of the `event` object, not of the event", "contentQuery"];
    return createWarning("WRONG_MEMBER", condition, `${name} is ${is}: use it in the ${use}`, {
      suggestions: [{ filter, text }],
      asks: false,
    });
  }
  const candidates = listPaths(evidence.types, condition.operator !== "exists");
  const meant = suggest(
    candidates,
    (candidate) => rankEither(condition.path, other, candidate.path),
    ({ events }) => events,
  );
  const sampled = sumSampled(evidence);
  return createWarning("UNKNOWN_PATH", condition, `${name} did not occur ${describe(evidence)}`, {
    suggestions: meant.map((one) => toSuggestion(one.path, member)),
    share: (meant[0]?.events ?? 0) / sampled,
    end: evidence.types.every(({ isComplete }) => isComplete)
      ? ""
      : " Not all paths of these events are known.",
  });
}

/** Ranks a path of the same member, or of the other one. */
function rankEither(
  path: readonly string[],
  other: readonly string[],
  candidate: readonly string[],
): readonly number[] | undefined {
  const isSameMember = (path[0] === "event") === (candidate[0] === "event");
  if (isSameMember) return rankPath(path, candidate);
  const [rank, ...rest] = rankPath(other, candidate) ?? [];
  return rank === undefined ? undefined : [rank < 2 ? 3 : rank + 3, ...rest];
}

interface Candidate {
  readonly path: readonly string[];
  readonly events: number;
}

/** The paths of some types, the most frequent first, with the number of events that have them. */
function listPaths(types: readonly KnownType[], onlyValues: boolean): Candidate[] {
  const byName = new Map<string, Candidate>();
  for (const { paths = [] } of types)
    for (const { path, events, kinds } of paths) {
      if (onlyValues && kinds.string + kinds.number + kinds.boolean === 0) continue;
      const name = JSON.stringify(path);
      byName.set(name, { path, events: (byName.get(name)?.events ?? 0) + events });
    }
  return [...byName.values()].toSorted((a, b) => b.events - a.events);
}

/** A headerQuery can also lead into the `event` object, but a contentQuery reads better. */
function toSuggestion(path: readonly string[], member: FilterMember): Suggestion {
  const { filter, name } = toFilterPath(path);
  return { filter: member === filter ? member : filter, text: name };
}

function createNotAValue(
  condition: RootedCondition,
  known: readonly KnownPath[],
  objects: number,
): FilterWarning {
  const members = [...new Set(known.flatMap(({ children }) => [...children.keys()]))];
  const shown = members.slice(0, 10).map((name) => `\`${printNames([name])}\``);
  const list = `${shown.join(", ")}${members.length > shown.length ? ", …" : ""}`;
  const what = `\`${printName(condition)}\` is an object in all ${formatNumber(objects)} events that have it, not a value.`;
  const message = members.length === 0 ? what : `${what} Its members: ${list}`;
  return createWarning("NOT_A_VALUE", condition, message, {
    suggestions: [...known.flatMap(({ statistics }) => statistics ?? [])]
      .slice(0, 1)
      .flatMap(({ path }) =>
        members.slice(0, 3).map((name) => toSuggestion([...path, name], condition.member)),
      ),
    asks: false,
  });
}

interface Counts {
  readonly statistics: readonly PathStatistics[];
  readonly count: (kind: ValueKind) => number;
}

/** Checks whether values of the kind that the condition compares with occurred. */
function checkKind(condition: RootedCondition, { statistics, count }: Counts): FilterWarning[] {
  const sum = (kind: "number" | "time"): number =>
    statistics.reduce((total, { texts }) => total + texts[kind], 0);
  const events = statistics.reduce((total, one) => total + one.events, 0);
  const name = `\`${printName(condition)}\``;
  const seen = `in ${formatNumber(events)} events since ${formatDay(statistics)}`;
  const kinds = listKinds(count);
  const warn = (message: string): FilterWarning[] => [
    createWarning("WRONG_KIND", condition, message, { suggestions: [], asks: false }),
  ];
  if (isComparison(condition.operator)) {
    const { number, instant } = toComparable(condition.values[0] ?? "");
    const hasNumbers = count("number") + sum("number") > 0;
    const hasTexts = count("string") > sum("number") + sum("time") || count("boolean") > 0;
    const [wanted, occurs] =
      number !== undefined
        ? ["number", hasNumbers]
        : instant !== undefined
          ? ["time", sum("time") > 0]
          : ["text", hasTexts];
    if (occurs) return [];
    return warn(
      `${name} was ${kinds} ${seen}, but never a ${wanted}: \`${printOwn(condition)}\` compares as strings`,
    );
  }
  if (condition.operator !== "eq" || count("string") > 0) return [];
  const unequal = condition.values.filter(
    (value) =>
      !(count("number") > 0 && parseNumber(value) !== undefined) &&
      !(count("boolean") > 0 && (value === "true" || value === "false")),
  );
  if (unequal.length === 0) return [];
  return warn(`${name} was ${kinds} ${seen}; \`${unequal[0] ?? ""}\` is not`);
}

const kindNames = { string: "a text", number: "a number", boolean: "a boolean" } as const;

const listKinds = (count: (kind: ValueKind) => number): string =>
  (["string", "number", "boolean"] as const)
    .filter((kind) => count(kind) > 0)
    .map((kind) => kindNames[kind])
    .join(" or ");

/** Checks values against those that occurred, if they are known. */
function checkValues(condition: RootedCondition, statistics: readonly PathStatistics[]): FilterWarning[] {
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
  const count = `${formatNumber(known.length)} ${known.length === 1 ? "value" : "values"}`;
  return unknown.slice(0, 1).map((value) => {
    const isText = operator === "eq" || operator === "eqi";
    const meant = isText ? suggest(known, (candidate) => rankText(value, candidate)) : [];
    const not = isText ? `not \`${value}\`` : `none with \`${printOwn(condition)}\``;
    const message = `\`${printName(condition)}\` had ${count} in ${formatNumber(events)} events since ${formatDay(valued)}, ${not}`;
    return createWarning("UNKNOWN_VALUE", condition, message, {
      suggestions: meant.map((text) => ({ filter: member, text })),
    });
  });
}

interface WarningParts {
  readonly suggestions: Suggestion[];
  /** How frequent the first suggestion is. */
  readonly share?: number;
  /** Whether the message ends with the first suggestion, as a question. */
  readonly asks?: boolean;
  readonly end?: string;
}

function createWarning(
  code: FilterWarning["code"],
  condition: RootedCondition,
  message: string,
  { suggestions, share, asks = true, end = "" }: WarningParts,
): FilterWarning {
  const [first] = suggestions;
  const { member: filter } = condition;
  const place = first === undefined || first.filter === filter ? "" : ` in the ${first.filter}`;
  const percent = share === undefined ? "" : ` (${Math.max(1, Math.round(share * 100))} %)`;
  const question = first === undefined || !asks ? "." : `; did you mean \`${first.text}\`${place}${percent}?`;
  return {
    code,
    filter,
    condition: printOwn(condition),
    message: message + question + end,
    suggestions,
  };
}

/** The path of a condition as its filter has it. */
const toOwnPath = ({ path, member }: RootedCondition): readonly string[] =>
  member === "contentQuery" && !(path[1] === "event" && path.length > 2) ? path.slice(1) : path;

const printName = (condition: RootedCondition): string => printNames(toOwnPath(condition));
const printOwn = (condition: RootedCondition): string =>
  printCondition({ ...condition, path: toOwnPath(condition) });

const sumSampled = ({ types }: Evidence): number => types.reduce((sum, { sampled }) => sum + sampled, 0);

function describe(evidence: Evidence): string {
  const { types, isEvery } = evidence;
  const [only] = types;
  const which = isEvery
    ? ""
    : types.length === 1 && only !== undefined
      ? ` of type ${only.name}`
      : ` of ${types.length} types`;
  return `in ${formatNumber(sumSampled(evidence))} events${which} since ${formatDay(types)}`;
}

const formatNumber = (count: number): string => count.toLocaleString("en-US");

const dayFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

/** The day since when something is known: "3 Nov 2026". */
const formatDay = (all: readonly { readonly firstOn: Date }[]): string =>
  dayFormat.format(Math.min(...all.map(({ firstOn }) => firstOn.getTime())));
