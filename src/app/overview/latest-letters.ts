import type { LatestDeadLetter } from "../../../schemas/overview.ts";
import { parseDeadLetter, type IdentifyTopic, type DeadLetter } from "../../dead-letters/dead-letter.ts";
import type { LogReader } from "../../sync/records.ts";

/** So many are shown. */
const maxDeadLetters = 10;

/**
 * The last letters of a dead-letter topic, the latest first. Only the topic's end is read, and only when something
 * was added to it. Throws UnavailableError.
 */
export function createLatestDeadLetters(
  reader: LogReader,
  topic: string,
  identify: IdentifyTopic,
): () => Promise<readonly LatestDeadLetter[]> {
  let seen = "";
  let latest: readonly LatestDeadLetter[] = [];

  return async () => {
    const bounds = await reader.bounds(topic);
    if (bounds === undefined) return [];
    const ends = JSON.stringify([...bounds]);
    if (ends === seen) return latest;
    const from = new Map(
      [...bounds].map(([partition, { low, high }]) => [partition, Math.max(low, high - maxDeadLetters)]),
    );
    const letters: DeadLetter[] = [];
    for await (const placed of reader.read(topic, { from, abort: new AbortController().signal }))
      letters.push(parseDeadLetter(topic, placed, identify));
    letters.sort((one, other) => (other.time?.getTime() ?? 0) - (one.time?.getTime() ?? 0));
    latest = letters.slice(0, maxDeadLetters).map(viewOf);
    seen = ends;
    return latest;
  };
}

const viewOf = (letter: DeadLetter): LatestDeadLetter => ({
  id: letter.id,
  time: letter.time?.toISOString() ?? null,
  code: letter.code,
  message: letter.message,
  externalId: letter.externalId ?? null,
});
