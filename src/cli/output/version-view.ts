import { compareFilters, type FilterChange } from "@topicsync/filters";
import { formatRecordPosition } from "@topicsync/kafka";
import type { DescriptionView, VersionView } from "../../../schemas/topics/versions.ts";
import type { SourceView } from "../../../schemas/topics/view.ts";
import { effects, formatDifferences, type Difference } from "./differences.ts";
import { sanitize } from "./output.ts";
import type { Column } from "./table.ts";

/** The columns of the history of a topic. */
export const versionColumns: readonly Column[] = [
  { head: "version" },
  { head: "external id" },
  { head: "name", width: 32 },
  { head: "stored at" },
  { head: "stored by" },
  { head: "ended" },
];

/** Formats an entry of the history as a row. */
export const toVersionRow = (view: VersionView | DescriptionView): readonly string[] =>
  "action" in view
    ? [
        `details ${view.version}`,
        sanitize(view.externalId),
        view.changes === null ? "" : `(${view.changes.map(({ member }) => member).join(", ")})`,
        view.changedOn,
        sanitize(view.changedBy),
        "",
      ]
    : [
        String(view.version),
        sanitize(view.externalId),
        sanitize(view.name),
        view.validFrom,
        sanitize(formatAuthor(view.source)),
        formatEnd(view),
      ];

function formatEnd({ endedAs, validTo, transient }: VersionView): string {
  if (endedAs === undefined) return "";
  return transient ? `${endedAs} at once, never visible` : `${endedAs} at ${validTo ?? ""}`;
}

/** Who or what stored a version, and the plan that it was part of. */
function formatAuthor(source: SourceView): string {
  if (source.kind === "announcement") return formatRecordPosition(source);
  if (source.change === undefined) return source.user;
  const { set, revision, plan } = source.change;
  return `${source.user}, plan ${plan} of ${set}${revision === undefined ? "" : `, revision ${revision}`}`;
}

const comparedMembers = ["externalId", "name", "namespace", "headerQuery", "contentQuery"] as const;

/** What is different in two versions. */
interface VersionDifference {
  readonly from: VersionView;
  readonly to: VersionView;
  readonly differences: readonly Difference[];
  /** What happened to the events; null if a filter is invalid. */
  readonly events: FilterChange | null;
}

export function compareVersions(before: VersionView, after: VersionView): VersionDifference {
  return {
    from: before,
    to: after,
    differences: comparedMembers
      .filter((member) => before[member] !== after[member])
      .map((member) => ({ member, from: before[member], to: after[member] })),
    events: compareFilters(before, after) ?? null,
  };
}

/** Formats a difference for people. */
export function formatDifference({ from, to, differences, events }: VersionDifference): string {
  const author = sanitize(formatAuthor(to.source));
  const lines = [
    `${sanitize(to.externalId)}   version ${from.version} → ${to.version}   ${author} at ${to.validFrom}`,
    ...formatDifferences(differences),
    ...(differences.length === 0 ? ["    same definition"] : []),
    `    ${events === null ? "a filter is invalid, so no event matches it" : effects[events]}`,
  ];
  return `${lines.join("\n")}\n`;
}
