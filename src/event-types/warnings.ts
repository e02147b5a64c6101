import { Turns } from "@topicsync/lib/concurrency/turns";
import {
  createConditionTest,
  createValueTest,
  isPatternOperator,
  readValidFilters,
  type FilterTexts,
  type RootedCondition,
} from "@topicsync/filters";
import type { FilterWarning } from "../../schemas/topics/check.ts";
import {
  getEventType,
  type EventSample,
  type EventType,
  type KnownPath,
  type SampleAccess,
  type ValueKind,
} from "./event-type.ts";
import { Evidence } from "./evidence.ts";
import { anyName } from "./structure.ts";
import { rankPath, rankText, suggest } from "./suggestions.ts";
import { checkKind, checkValues } from "./value-checks.ts";
import { printNames, toFilterPath } from "./view.ts";
import { createWarning, formatEvents, formatSampled, printName, printOwn } from "./warning-text.ts";

type Suggestion = FilterWarning["suggestions"][number];

/** Of one topic: suggestions take time. */
const maxWarnings = 10;

/**
 * Compares the filters of a topic with a sample of events, in turns of the event loop: looking for what may
 * be meant takes time. Invalid filters have no warnings.
 */
export async function findFilterWarnings(
  texts: FilterTexts,
  sample: EventSample,
  options: SampleAccess,
): Promise<FilterWarning[]> {
  if (sample.types.length === 0) return [];
  const conditions = readValidFilters(texts).filter(
    ({ ofRecord, operator, values }) => !ofRecord && !(operator === "exists" && values[0] === "false"),
  );
  const onTypes = conditions.filter(isOnType);
  const warnings: FilterWarning[] = [];
  const tests = onTypes.map(createConditionTest);
  const isMeant = (eventType: string | undefined): boolean => tests.every((test) => test({ eventType }));
  const types = new Set(sample.types.filter((type) => isMeant(getEventType(type))));
  for (const condition of onTypes) {
    for (const { warning, meant } of checkTypes(condition, sample)) {
      warnings.push(warning);
      if (meant !== undefined) types.add(meant);
    }
  }
  if (types.size > 0) {
    const evidence = new Evidence([...types], sample);
    const turns = new Turns();
    for (const condition of conditions) {
      if (warnings.length < maxWarnings && !isOnType(condition))
        warnings.push(...checkPath(condition, { evidence, sample, ...options }));
      if (turns.isOver()) await turns.next();
    }
  }
  return warnings.slice(0, maxWarnings);
}

const isOnType = ({ path }: RootedCondition): boolean => path.length === 1 && path[0] === "eventType";

interface TypeWarning {
  readonly warning: FilterWarning;
  /** The type that was probably meant. */
  readonly meant: EventType | undefined;
}

function checkTypes(condition: RootedCondition, sample: EventSample): TypeWarning[] {
  const { types, hasAllTypes, events } = sample;
  if (!hasAllTypes) return [];
  const { operator, values } = condition;
  const names = types.flatMap((type) => getEventType(type) ?? []);
  const seen = formatSampled(events, sample);
  const warn = (what: string, meant: readonly EventType[]): TypeWarning => ({
    warning: createWarning("UNKNOWN_EVENT_TYPE", condition, `No event of ${what} ${seen}`, {
      suggestions: meant.map(({ name }) => ({ filter: condition.member, text: name })),
      share: (meant[0]?.events ?? 0) / events,
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
          (type) => type.events,
        );
        return warn(`type \`${value}\``, meant);
      });
  if (!isPatternOperator(operator)) return [];
  const test = createValueTest(condition);
  return names.some((name) => test(name, false)) ? [] : [warn(`a type with \`${printOwn(condition)}\``, [])];
}

interface PathCheck extends SampleAccess {
  readonly evidence: Evidence;
  readonly sample: EventSample;
}

function checkPath(
  condition: RootedCondition,
  { evidence, sample, showsValues }: PathCheck,
): FilterWarning[] {
  const found = evidence.types.map((type) => type.find(condition.path));
  if (found.includes("open")) return [];
  const known = found.filter((one): one is KnownPath => one !== undefined && one !== "open");
  if (known.length === 0) return [createUnknownPath(condition, evidence)];
  if (condition.operator === "exists") return [];
  const statistics = known.map((one) => one.statistics);
  const count = (kind: ValueKind): number => statistics.reduce((sum, { kinds }) => sum + kinds[kind], 0);
  if (count("string") + count("number") + count("boolean") === 0)
    return count("object") > 0 ? [createNotAValue(condition, known, count("object"))] : [];
  const wrongKind = checkKind(condition, { sample, statistics, count });
  return wrongKind.length > 0 || !showsValues ? wrongKind : checkValues(condition, { sample, statistics });
}

function createUnknownPath(condition: RootedCondition, evidence: Evidence): FilterWarning {
  const { path } = condition;
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
  const meant = suggest(
    evidence.listPaths(),
    ({ isValue, ...candidate }) =>
      isValue || condition.operator === "exists" ? rankEither(path, other, candidate.path) : undefined,
    ({ events }) => events,
  );
  return createWarning("UNKNOWN_PATH", condition, `${name} did not occur ${evidence.describe()}`, {
    suggestions: meant.map((one) => toSuggestion(one.path)),
    share: (meant[0]?.events ?? 0) / evidence.events,
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

function toSuggestion(path: readonly string[]): Suggestion {
  const { filter, name: text } = toFilterPath(path);
  return { filter, text };
}

function createNotAValue(
  condition: RootedCondition,
  known: readonly KnownPath[],
  objects: number,
): FilterWarning {
  const names = new Set(known.flatMap((one) => one.names));
  const members = [...names].filter((name) => name !== anyName && name !== "");
  const shown = members.slice(0, 10).map((name) => `\`${printNames([name])}\``);
  const list = `${shown.join(", ")}${members.length > shown.length ? ", …" : ""}`;
  const what = `\`${printName(condition)}\` is an object in all ${formatEvents(objects)} that have it, not a value.`;
  const message = members.length === 0 ? what : `${what} Its members: ${list}`;
  return createWarning("NOT_A_VALUE", condition, message, {
    suggestions: members.slice(0, 3).map((name) => toSuggestion([...condition.path, name])),
    asks: false,
  });
}
