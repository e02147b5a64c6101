import type { SourceView, TopicView } from "../../../../schemas/topics/view.ts";

/** A source as a phrase: "by admin". */
export const describeSource = (source: SourceView): string =>
  source.kind === "announcement"
    ? `by an announcement in ${source.topic}, partition ${source.partition}, offset ${source.offset}`
    : `by ${formatUser(source.user)}${describePlan(source.change)}`;

/** The plan that a change was part of. */
function describePlan(change: Extract<SourceView, { kind: "http" }>["change"]): string {
  if (change === undefined) return "";
  const revision = change.revision === undefined ? "" : ` at revision ${change.revision}`;
  return `, for the set ${change.set}${revision}`;
}

export const formatUser = (user: string): string =>
  user.startsWith("cli:") ? `${user.slice("cli:".length)} (command line)` : user;

export const topicsPath = "/api/topicsync/v1/topics";

/** Below the common limit of 2,048 characters per URL. */
const maxPathLength = 1_500;

/**
 * Returns the path segment of a topic: its external id, or its id if that is too long or would change the
 * path.
 */
export function getTopicPath({ externalId, id }: Pick<TopicView, "externalId" | "id">): string {
  return canBeInPath(externalId) ? encodeURIComponent(externalId) : id;
}

/** Whether an external id is short enough for a path, and does not change it. */
export const canBeInPath = (externalId: string): boolean =>
  encodeURIComponent(externalId).length <= maxPathLength && !/^\.{1,2}$/.test(externalId);
