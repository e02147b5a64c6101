import {
  planActions,
  type PlanAction,
  type PlannedChange,
  type PlannedState,
  type PlanResult,
} from "../../plans/plan.ts";
import { detailsMembers } from "../../topics/details/details.ts";
import { formatMemberValue } from "./details-text.ts";
import { effects, formatDifferences } from "./differences.ts";
import { formatCount } from "./format.ts";
import { sanitize } from "./output.ts";

const signs: Readonly<Record<PlanAction, string>> = {
  create: "+",
  change: "~",
  describe: "~",
  rename: "~",
  adopt: "~",
  disable: "-",
  release: "-",
};

/** Formats a plan for people, a line each. */
export function* formatPlan(result: PlanResult): Generator<string> {
  const { plan, blocked, orphaned, unread } = result;
  yield formatHead(result);
  for (const change of plan.changes) {
    yield "";
    yield* formatChange(change);
  }
  if (orphaned.length + unread.length + blocked.length > 0) yield "";
  for (const { externalId, path } of orphaned)
    yield sanitize(`  ${externalId}: not in the files any more (was in ${path}); --prune disables it`);
  for (const { externalId, path } of unread)
    yield sanitize(`  ${externalId}: from ${path}, which was not read`);
  for (const { externalId, code, message } of blocked)
    yield sanitize(`! ${externalId}: ${message} (${code})`);
  yield "";
  yield formatCounts(result);
}

function formatHead({ plan: { set, revision, database }, topics, files }: PlanResult): string {
  const from = `${formatCount(topics, "topic")} in ${formatCount(files, "file")}`;
  const parts = [
    `set ${set}`,
    from,
    ...(revision === undefined ? [] : [`revision ${revision.slice(0, 12)}`]),
  ];
  return sanitize(`${parts.join(", ")}; database ${database}`);
}

/** "1 to create, 2 to change, 1,200 unchanged, 0 blocked". */
export function formatCounts({ plan, unchanged, blocked }: PlanResult): string {
  const byAction = Map.groupBy(plan.changes, ({ action }) => action);
  const counts = planActions.flatMap((action) => {
    const changes = byAction.get(action);
    return changes === undefined ? [] : [`${formatNumber(changes.length)} to ${action}`];
  });
  return [...counts, `${formatNumber(unchanged)} unchanged`, `${formatNumber(blocked.length)} blocked`].join(
    ", ",
  );
}

const formatNumber = (count: number): string => count.toLocaleString("en-US");

function* formatChange(change: PlannedChange): Generator<string> {
  const { action, externalId, before, after, effect, warnings, notes } = change;
  yield sanitize([`${signs[action]} ${externalId}`, ...describeChange(change)].join("   "));
  if (before === undefined && after !== undefined) yield* formatMembers(after);
  if (before !== undefined && after !== undefined) yield* formatChanges(before, after);
  if (effect !== undefined) yield `    ${effects[effect]}`;
  for (const note of notes) yield sanitize(`    ${note}`);
  for (const { filter, message } of warnings) yield sanitize(`    warning: ${filter}: ${message}`);
}

/** What is said beside the external id. */
function describeChange({ action, expects, before, after }: PlannedChange): string[] {
  const owner = (after ?? before)?.owner ?? "";
  const version = expects?.version ?? 0;
  const descriptions: Readonly<Record<PlanAction, string>> = {
    create: `in ${after?.path ?? "no file"}`,
    change: `version ${version} → ${version + 1}`,
    describe: "details",
    rename: `renamed to ${after?.externalId ?? ""}, version ${version} → ${version + 1}`,
    adopt: before?.set === undefined ? "adopted" : `adopted from the set ${before.set}`,
    disable: `disabled, was in ${before?.path ?? "no file"}`,
    release: "released; only the channel can retire it",
  };
  return [descriptions[action], ...(owner === "" ? [] : [`owner ${owner}`])];
}

function* formatMembers(after: PlannedState): Generator<string> {
  for (const member of shownMembers) {
    const value = formatMemberValue(after[member]);
    if (value !== "" && member !== "path") yield sanitize(`    ${member}: ${value}`);
  }
}

const formatChanges = (before: PlannedState, after: PlannedState): string[] =>
  formatDifferences(
    shownMembers.map((member) => ({
      ...{ member, from: formatMemberValue(before[member]), to: formatMemberValue(after[member]) },
    })),
  );

const shownMembers = [
  ...(["name", "namespace", "headerQuery", "contentQuery"] as const),
  ...detailsMembers,
  "path" as const,
];

/** Comments of GitHub have at most 65,536 characters. */
const maxMarkdownCharacters = 60_000;

/** Formats a plan as a comment of a pull request. */
export function formatMarkdown(result: PlanResult, impact: string): string {
  const lines: string[] = [];
  let length = 0;
  for (const line of formatPlan(result)) {
    length += line.length + 1;
    if (length > maxMarkdownCharacters) {
      lines.push("…");
      break;
    }
    lines.push(line.replace(/^ {4}(?=[-+] )/, ""));
  }
  const text = [...lines, ...(impact === "" ? [] : ["", impact.trimEnd()])].join("\n");
  const fence = "`".repeat(Math.max(3, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length + 1)));
  return `### Topics of the set ${result.plan.set}\n\n${formatCounts(result)}\n\n${fence}diff\n${text}\n${fence}`;
}
