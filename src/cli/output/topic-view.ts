import { formatRecordPosition } from "@topicsync/kafka";
import type { SourceView, TopicDetail, TopicView } from "../../../schemas/topics/view.ts";
import { toDetails } from "../../topics/details/details.ts";
import { formatFilterError } from "./caret.ts";
import { listDetails } from "./details-text.ts";
import { formatMinute } from "./format.ts";
import { sanitize } from "./output.ts";
import type { Column } from "./table.ts";

/** The columns of the list of topics. */
export const topicColumns: readonly Column[] = [
  { head: "external id" },
  { head: "name", width: 32 },
  { head: "namespace", width: 18 },
  { head: "from", width: 26 },
  { head: "changed", width: 18 },
  { head: "last event", width: 18 },
];

/** Formats a topic as a row of the list; for a retired topic, who or what retired it and when. */
export const toTopicRow = ({
  externalId,
  name,
  namespace,
  source,
  updatedOn,
  lastEventOn,
  retiredBy,
  retiredOn,
}: TopicView): readonly string[] => [
  sanitize(externalId),
  sanitize(name),
  sanitize(namespace),
  sanitize(formatShortSource(retiredBy ?? source)),
  formatMinute(new Date(retiredOn ?? updatedOn)),
  lastEventOn === undefined ? "" : formatMinute(new Date(lastEventOn)),
];

/** Formats everything about a topic, for people. */
export function formatTopic(topic: TopicDetail): string {
  const fields = [
    ["external id", sanitize(topic.externalId)],
    ["name", sanitize(topic.name)],
    ["namespace", topic.namespace === "" ? "(none)" : sanitize(topic.namespace)],
    ["state", topic.state],
    ...(topic.retiredBy && topic.retiredOn
      ? [["retired", `${formatRetirement(topic.retiredBy)} at ${topic.retiredOn}`]]
      : []),
    ...(topic.replaced
      ? [["replaced", `${topic.replaced.as} by ${formatReplacer(topic.replaced.by)} at ${topic.replaced.on}`]]
      : []),
    ["version", String(topic.version)],
    ["from", formatSource(topic.source)],
    ["created", topic.createdOn],
    ["changed", topic.updatedOn],
    ["last event", topic.lastEventOn ?? "none counted"],
    ["id", topic.id],
  ].map(([name = "", value = ""]) => `${name.padEnd(13)}${value}`);
  return [
    ...fields,
    ...formatFilter(topic, "headerQuery"),
    ...formatFilter(topic, "contentQuery"),
    ...formatDetails(topic),
    ...formatPrevious(topic),
    "",
  ].join("\n");
}

const definitionMembers = [
  ["name", "name"],
  ["namespace", "namespace"],
  ["header query", "headerQuery"],
  ["content query", "contentQuery"],
] as const;

/** Formats where the previous definition came from, and the members that were different. */
function formatPrevious({ previous, ...topic }: TopicDetail): string[] {
  if (previous === undefined) return [];
  const different = definitionMembers.filter(([, member]) => previous[member] !== topic[member]);
  return [
    `${"before".padEnd(13)}${formatSource(previous.source)}, since ${previous.updatedOn}`,
    ...different.map(
      ([label, member]) =>
        `    ${label.padEnd(15)}${previous[member] === "" ? "(empty)" : sanitize(previous[member])}`,
    ),
  ];
}

/** Formats what is known about a topic that was described. */
function formatDetails({ details }: TopicDetail): string[] {
  if (details.version === 0) return [];
  const fields = [
    ...listDetails(toDetails(details)),
    ["set", details.set ?? ""],
    ["described", `version ${details.version} by ${details.changedBy}, since ${details.changedOn ?? ""}`],
  ];
  return fields.flatMap(([member = "", value = ""]) =>
    value === "" ? [] : [`${toWords(member).padEnd(13)}${sanitize(value)}`],
  );
}

/** "replaced by" for `replacedBy`. */
const toWords = (member: string): string =>
  member.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

function formatFilter(topic: TopicDetail, member: keyof TopicDetail["filters"]): string[] {
  const label = (member === "headerQuery" ? "header query" : "content query").padEnd(14);
  const text = topic[member];
  const { conditions, fault } = topic.filters[member];
  if (fault !== null)
    return [
      `${label}invalid: no event belongs to this topic`,
      ...formatFilterError(text, { problem: fault.message, position: fault.position }),
    ];
  if (text === "") return [`${label}(empty) matches every event`];
  const words = conditions.map((condition, i) => `    ${i > 0 ? "and " : ""}${sanitize(condition)}`);
  return [`${label}${sanitize(text)}`, ...words];
}

const formatRetirement = (source: SourceView): string =>
  source.kind === "http"
    ? `disabled by ${sanitize(source.user)}`
    : `by the tombstone ${sanitize(formatRecordPosition(source))}`;

const formatReplacer = (source: SourceView): string =>
  sanitize(source.kind === "http" ? source.user : formatRecordPosition(source));

function formatSource(source: SourceView): string {
  if (source.kind === "announcement")
    return `announced by ${sanitize(formatRecordPosition(source))} (topic-partition-offset)`;
  return source.user.startsWith("cli:")
    ? `on the command line by ${sanitize(source.user.slice("cli:".length))}`
    : `over HTTP by ${sanitize(source.user)}`;
}

const formatShortSource = (source: SourceView): string =>
  source.kind === "announcement" ? `announced ${source.partition}-${source.offset}` : `http ${source.user}`;
