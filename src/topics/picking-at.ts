import { OverloadedError } from "@topicsync/lib/errors";
import { elapsed } from "@topicsync/lib/platform";
import { Turns } from "@topicsync/lib/concurrency/turns";
import {
  FilterSyntaxError,
  type EventRecord,
  matches,
  readFilters,
  type FilterTexts,
} from "@topicsync/filters";
import type { Namespaces } from "../users/rights.ts";
import { streamTopicsAt, type TopicHistory, type TopicVersion } from "./history.ts";
import { maxPickedTopics } from "./live/picked-topics.ts";

interface Picked {
  readonly event: unknown;
  readonly record: EventRecord | undefined;
  readonly namespaces: Namespaces;
}

/** All topics of the time are read, since the index has those of today only. */
const limitMs = 10_000;

/**
 * The topics that an event belonged to at a time, by the plain meaning of their filters: the first ones by
 * external id, and the number of all. Throws OverloadedError after ten seconds, and UnavailableError.
 */
export async function pickAt(
  history: Pick<TopicHistory, "readAt">,
  at: Date,
  { event, record, namespaces }: Picked,
): Promise<{ readonly topics: readonly TopicVersion["topic"][]; readonly total: number }> {
  const end = elapsed() + limitMs;
  const turns = new Turns();
  const topics: TopicVersion["topic"][] = [];
  let total = 0;
  for await (const { topic } of streamTopicsAt(history, at, { namespaces })) {
    if (elapsed() > end)
      throw new OverloadedError(
        "There are too many topics to pick from as they were. Name one of them with explain.",
      );
    if (turns.isOver()) await turns.next();
    if (!isMatch(topic, event, record)) continue;
    total += 1;
    if (topics.length < maxPickedTopics) topics.push(topic);
  }
  return { topics, total };
}

/** A topic with an invalid filter is never picked. */
function isMatch(texts: FilterTexts, event: unknown, record: EventRecord | undefined): boolean {
  try {
    return matches(readFilters(texts), event, record);
  } catch (error) {
    if (error instanceof FilterSyntaxError) return false;
    throw error;
  }
}
