import type { LatestLetter } from "../../schemas/overview.ts";
import { letterOf, type Identify, type Letter } from "../dead-letters/letter.ts";
import type { LogReader } from "../sync/records.ts";

/** So many are shown. */
const mostLetters = 10;

/**
 * The last letters of a dead-letter topic, the latest first. Only the topic's end is read, and only when something
 * was added to it. Throws Unavailable.
 */
export function latestLetters(
  reader: LogReader,
  topic: string,
  identify: Identify,
): () => Promise<readonly LatestLetter[]> {
  let seen = "";
  let latest: readonly LatestLetter[] = [];

  return async () => {
    const bounds = await reader.bounds(topic);
    if (bounds === undefined) return [];
    const ends = JSON.stringify([...bounds]);
    if (ends === seen) return latest;
    const from = new Map(
      [...bounds].map(([partition, { low, high }]) => [partition, Math.max(low, high - mostLetters)]),
    );
    const letters: Letter[] = [];
    for await (const placed of reader.read(topic, { from, abort: new AbortController().signal }))
      letters.push(letterOf(topic, placed, identify));
    letters.sort((one, other) => (other.time?.getTime() ?? 0) - (one.time?.getTime() ?? 0));
    latest = letters.slice(0, mostLetters).map(viewOf);
    seen = ends;
    return latest;
  };
}

const viewOf = (letter: Letter): LatestLetter => ({
  id: letter.id,
  time: letter.time?.toISOString() ?? null,
  code: letter.code,
  message: letter.message,
  externalId: letter.externalId ?? null,
});
