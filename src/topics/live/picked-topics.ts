import { maxPageBytes, measureRecords, recordsPerRead } from "@topicsync/lib/page-bytes";
import type { PickableTopic, TopicFeed } from "./feed.ts";

/** The topics that an event belongs to. */
export interface PickedTopics {
  /** The first ones by external id: at most 1,000, and fewer if they are large. */
  readonly topics: readonly PickableTopic[];
  /** The number of all. */
  readonly total: number;
}

export const maxPickedTopics = 1_000;

/** Reads the first of these topics. Throws UnavailableError. */
export async function readPickedTopics(
  feed: Pick<TopicFeed, "find">,
  externalIds: readonly string[],
): Promise<PickedTopics> {
  const first = findFirst(externalIds, maxPickedTopics);
  const topics: PickableTopic[] = [];
  for (let at = 0, bytes = 0; at < first.length && bytes < maxPageBytes; at += recordsPerRead) {
    const read = await feed.find(first.slice(at, at + recordsPerRead));
    topics.push(...read);
    bytes += measureRecords(read);
  }
  return {
    topics: topics.sort((a, b) => (a.externalId < b.externalId ? -1 : 1)),
    total: externalIds.length,
  };
}

/** Returns the first texts in order. Sorting all of a million would block the process for seconds. */
function findFirst(texts: readonly string[], count: number): string[] {
  let first: string[] = [];
  let limit: string | undefined;
  for (const text of texts) {
    if (limit !== undefined && text >= limit) continue;
    first.push(text);
    if (first.length < 2 * count) continue;
    first = first.sort().slice(0, count);
    limit = first.at(-1);
  }
  return first.sort().slice(0, count);
}
