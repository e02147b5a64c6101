import { FilterSyntaxError, type FilterMember } from "../../matching/filter/filter.ts";
import { parseFilter } from "../../matching/filter/parse.ts";
import { describeFilter } from "../../matching/filter/to-text.ts";
import type { RetiredTopic, ListedTopic, Source, Topic, TopicDefinition } from "../../topics/topic.ts";
import { formatFilterError } from "./caret.ts";
import { sanitize } from "./output.ts";
import { formatMinute } from "./format.ts";
import type { Column } from "./table.ts";

/** The columns of the list of topics. */
export const topicColumns: readonly Column[] = [
  { head: "external id" },
  { head: "name", width: 32 },
  { head: "namespace", width: 18 },
  { head: "from", width: 26 },
  { head: "changed", width: 18 },
];

/** A topic as a line of the list; for a disabled one, who disabled it and when. */
export const topicRow = ({ topic, retired }: ListedTopic): readonly string[] => [
  sanitize(topic.externalId),
  sanitize(topic.name),
  sanitize(topic.namespace),
  sanitize(retired === undefined ? shortSource(topic.source) : shortSource(retired.retiredBy)),
  formatMinute(retired?.retiredOn ?? topic.updatedOn),
];

/** A topic for programs. */
export function topicJson({ topic, retired }: ListedTopic): Record<string, unknown> {
  const {
    externalId,
    name,
    namespace,
    headerQuery,
    contentQuery,
    id,
    source,
    createdOn,
    updatedOn,
    previous,
  } = topic;
  return {
    ...{ externalId, name, namespace, headerQuery, contentQuery, id },
    active: retired === undefined,
    ...{ source, createdOn, updatedOn },
    ...(previous && { previous }),
    ...(retired && { retiredOn: retired.retiredOn, retiredBy: retired.retiredBy }),
  };
}

/** A definition as it is exported: what `import` and `announce` take. */
export const definitionJson = ({
  externalId,
  name,
  namespace,
  headerQuery,
  contentQuery,
}: TopicDefinition): string => JSON.stringify({ externalId, name, namespace, headerQuery, contentQuery });

/** Everything about a topic, for people. */
export function topicText({ topic, retired }: ListedTopic): string {
  const fields = [
    ["external id", sanitize(topic.externalId)],
    ["name", sanitize(topic.name)],
    ["namespace", topic.namespace === "" ? "(none)" : sanitize(topic.namespace)],
    ["active", retired === undefined ? "yes" : "no"],
    ...(retired === undefined ? [] : [["retired", retirement(retired)]]),
    ["from", sourceWords(topic.source)],
    ["created", topic.createdOn.toISOString()],
    ["changed", topic.updatedOn.toISOString()],
    ["id", topic.id],
  ].map(([name = "", value = ""]) => `${name.padEnd(13)}${value}`);
  return [
    ...fields,
    ...filterLines(topic, "headerQuery"),
    ...filterLines(topic, "contentQuery"),
    ...previousLines(topic),
    "",
  ].join("\n");
}

/** What it was before its definition changed: where it came from, and what was different. */
function previousLines({ previous, ...topic }: Topic): string[] {
  if (previous === undefined) return [];
  const members = [
    ["name", "name"],
    ["namespace", "namespace"],
    ["header query", "headerQuery"],
    ["content query", "contentQuery"],
  ] as const;
  const different = members.filter(([, member]) => previous[member] !== topic[member]);
  return [
    `${"before".padEnd(13)}${sourceWords(previous.source)}, from ${previous.updatedOn.toISOString()} on`,
    ...different.map(
      ([name, member]) =>
        `    ${name.padEnd(15)}${previous[member] === "" ? "(empty)" : sanitize(previous[member])}`,
    ),
  ];
}

function filterLines(topic: Topic, member: FilterMember): string[] {
  const head = (member === "headerQuery" ? "header query" : "content query").padEnd(14);
  const text = topic[member];
  if (text === "") return [`${head}(empty) matches every event`];
  try {
    const { conditions } = describeFilter(parseFilter(text, member));
    const words = conditions.map(
      (condition, index) => `    ${index > 0 ? "and " : ""}${sanitize(condition)}`,
    );
    return [`${head}${sanitize(text)}`, ...words];
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    return [`${head}cannot be read: no event belongs to this topic`, ...formatFilterError(text, error)];
  }
}

const retirement = ({ retiredOn, retiredBy }: Omit<RetiredTopic, "topic">): string =>
  retiredBy.kind === "http"
    ? `disabled by ${sanitize(retiredBy.user)} at ${retiredOn.toISOString()}`
    : `by the tombstone ${sanitize(placeOf(retiredBy))} at ${retiredOn.toISOString()}`;

const sourceWords = (source: Source): string =>
  source.kind === "announcement"
    ? `announced by ${sanitize(placeOf(source))} (topic-partition-offset)`
    : source.user.startsWith("cli:")
      ? `created on the command line by ${sanitize(source.user.slice("cli:".length))}`
      : `created over HTTP by ${sanitize(source.user)}`;

const placeOf = ({
  topic,
  partition,
  offset,
}: {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}): string => `${topic}-${partition}-${offset}`;

const shortSource = (source: Source): string =>
  source.kind === "announcement" ? `announced ${source.partition}-${source.offset}` : `http ${source.user}`;
