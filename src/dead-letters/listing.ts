import type { DeadLetterItem } from "../../schemas/dead-letter-api.ts";
import { createCursorFormat } from "../lib/cursor.ts";
import { findReplays, type ReplaySources } from "./outcomes.ts";
import type {
  DeadLetterFilter,
  DeadLetterKey,
  DeadLetterOrder,
  DeadLetterReader,
  SyncPosition,
} from "./stores.ts";
import type { StoredDeadLetter } from "./summary.ts";
import { toDeadLetterItem } from "./views.ts";

export interface ListRequest {
  readonly filter: DeadLetterFilter;
  /** Only those that were replayed, or only those that were not. */
  readonly replayed?: boolean | undefined;
}

export interface PageRequest extends ListRequest {
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface ListSources extends ReplaySources {
  readonly letters: Pick<DeadLetterReader, "find" | "stream">;
  readonly positions: readonly SyncPosition[];
}

/** A stored dead letter as it is listed; `item` is undefined if the request excludes it. */
interface Listed {
  readonly letter: StoredDeadLetter;
  readonly item: DeadLetterItem | undefined;
}

/** Batches of dead letters with their last replays. */
export async function* readItems(
  { filter, replayed }: ListRequest,
  order: DeadLetterOrder,
  sources: ListSources,
): AsyncGenerator<readonly Listed[]> {
  for await (const batch of sources.letters.stream(filter, order)) {
    const ids = batch.map(({ id }) => id);
    const found = await findReplays(ids, sources.positions, sources);
    yield batch.map((letter) => {
      const replay = found.get(letter.id)?.at(-1);
      const isListed = replayed === undefined || replayed === (replay !== undefined);
      return { letter, item: isListed ? toDeadLetterItem(letter, replay) : undefined };
    });
  }
}

const batchSize = 500;
/** A search that finds few replays ends its page after looking up this many. */
const maxLookUpsPerPage = 10_000;

/** A page, newest first. Throws a RejectionError if the cursor is not valid. */
export async function readPage(
  request: PageRequest,
  sources: ListSources,
): Promise<{ deadLetters: DeadLetterItem[]; next: string | null }> {
  const { replayed, limit } = request;
  const after = request.after === undefined ? undefined : parseCursor(request.after);
  const maxLookUps = replayed === undefined ? limit : maxLookUpsPerPage;
  const deadLetters: DeadLetterItem[] = [];
  let last: StoredDeadLetter | undefined;
  let lookUps = 0;
  // One more than the page has shows whether there is a next one.
  const order = {
    newestFirst: true,
    after,
    batchSize: Math.min(maxLookUps, batchSize),
    limit: maxLookUps + 1,
  };
  for await (const batch of readItems(request, order, sources)) {
    for (const { letter, item } of batch) {
      const isFull = deadLetters.length === limit || lookUps === maxLookUps;
      if (isFull) return { deadLetters, next: last === undefined ? null : toCursor(last) };
      last = letter;
      lookUps += 1;
      if (item !== undefined) deadLetters.push(item);
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
