import { createCursorFormat } from "@topicsync/lib/cursor";
import type { DeadLetterItem } from "../../schemas/dead-letters/dead-letter.ts";
import { findReplays, type ReplaySources } from "./outcomes.ts";
import type { DeadLetterFilter, DeadLetterKey, DeadLetterReader, SyncPosition } from "./stores.ts";
import type { StoredDeadLetter } from "./summary.ts";
import { toDeadLetterItem } from "./views.ts";

export interface PageRequest {
  readonly filter: DeadLetterFilter;
  /** Only those that were replayed, or only those that were not. */
  readonly replayed?: boolean | undefined;
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface ListSources extends ReplaySources {
  readonly letters: Pick<DeadLetterReader, "find" | "stream">;
  readonly positions: readonly SyncPosition[];
}

const batchSize = 500;
/** A search that finds few replays ends its page after looking up this many. */
const maxLookUpsPerPage = 10_000;

/** A page, newest first. Throws a RejectionError if the cursor is not valid. */
export async function readPage(
  { filter, replayed, limit, after }: PageRequest,
  sources: ListSources,
): Promise<{ deadLetters: DeadLetterItem[]; next: string | null }> {
  const maxLookUps = replayed === undefined ? limit : maxLookUpsPerPage;
  const deadLetters: DeadLetterItem[] = [];
  let last: StoredDeadLetter | undefined;
  let lookUps = 0;
  // One more than the page has shows whether there is a next one.
  const range = {
    after: after === undefined ? undefined : parseCursor(after),
    batchSize: Math.min(maxLookUps, batchSize),
    limit: maxLookUps + 1,
  };
  for await (const batch of sources.letters.stream(filter, range)) {
    const ids = batch.map(({ id }) => id);
    const replays = await findReplays(ids, sources.positions, sources);
    for (const letter of batch) {
      const isFull = deadLetters.length === limit || lookUps === maxLookUps;
      if (isFull) return { deadLetters, next: last === undefined ? null : toCursor(last) };
      last = letter;
      lookUps += 1;
      const replay = replays.get(letter.id)?.at(-1);
      if (replayed === undefined || replayed === (replay !== undefined))
        deadLetters.push(toDeadLetterItem(letter, replay));
    }
  }
  return { deadLetters, next: null };
}

const cursors = createCursorFormat("dead-letters", ["integer", "integer", "integer"]);

const toCursor = ({ rank, position }: StoredDeadLetter): string =>
  cursors.encode([rank, position.partition, position.offset]);

/** Throws a RejectionError. */
function parseCursor(cursor: string): DeadLetterKey {
  const [rank, partition, offset] = cursors.decode(cursor);
  return { rank, partition, offset };
}
