import { readHistoryPage, type HistoryEntry } from "../../src/topics/history.ts";

function formatEntry(entry: HistoryEntry): string {
  if ("details" in entry) {
    const { externalId, version, owner, changedBy } = entry.details;
    return `${externalId} described ${version} by ${changedBy}: ${entry.before?.owner ?? ""} to ${owner}`;
  }
  const { topic, ended, isTransient } = entry;
  return `${topic.externalId} ${topic.name} ${topic.version} ${ended?.as ?? "current"}${isTransient ? " unseen" : ""}`;
}

/** Reads the history of an external id page by page, a line for each entry. */
export async function listHistory(
  history: Parameters<typeof readHistoryPage>[0],
  externalId: string,
  limit: number,
): Promise<string[]> {
  const lines: string[] = [];
  let after: string | undefined;
  do {
    const page = await readHistoryPage(history, externalId, { namespaces: "all", after, limit });
    lines.push(...page.entries.map(formatEntry));
    after = page.next;
  } while (after !== undefined);
  return lines;
}
