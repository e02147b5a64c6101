import type { DeadLetterItem } from "../../schemas/dead-letter-api.ts";
import { createCursorFormat } from "../lib/cursor.ts";
import { compareNewestFirst, type DeadLetterSummary, type SortKey } from "./dead-letter-index.ts";
import type { ReplayWithOutcome } from "./outcomes.ts";
import { toDeadLetterItem } from "./views.ts";

/** Absent members do not narrow the choice. */
export interface DeadLetterFilter {
  readonly ids?: ReadonlySet<string>;
  readonly codes?: ReadonlySet<string>;
  /** Announced at this time or later, in milliseconds since 1970. */
  readonly from?: number;
  /** Announced at this time or earlier. */
  readonly to?: number;
}

export interface PageRequest {
  readonly filter: DeadLetterFilter;
  /** Only those that were replayed, or only those that were not. */
  readonly replayed?: boolean | undefined;
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface DeadLetterPage {
  readonly deadLetters: DeadLetterItem[];
  /** Null after the last page. A page may be short, or empty, and still have a next one. */
  readonly next: string | null;
}

const lookUpBatchSize = 500;
/** A search that finds few replays ends its page after looking up this many. */
const maxLookUpsPerPage = 10_000;

/** A page of a sorted list. Throws a RejectionError for an invalid cursor. */
export async function readPage(
  sorted: readonly DeadLetterSummary[],
  { filter, replayed, after, limit }: PageRequest,
  findReplays: (ids: readonly string[]) => Promise<ReadonlyMap<string, readonly ReplayWithOutcome[]>>,
): Promise<DeadLetterPage> {
  const deadLetters: DeadLetterItem[] = [];
  const batchSize = replayed === undefined ? limit : lookUpBatchSize;
  let next = findMatch(sorted, filter, after === undefined ? 0 : findAfter(sorted, after));
  for (let lookUps = 0; lookUps < maxLookUpsPerPage && deadLetters.length < limit; lookUps += batchSize) {
    const batch: number[] = [];
    for (; next < sorted.length && batch.length < batchSize; next = findMatch(sorted, filter, next + 1))
      batch.push(next);
    const found = await findReplays(batch.flatMap((i) => sorted[i]?.id ?? []));
    for (const i of batch) {
      const summary = sorted[i];
      const replay = summary && found.get(summary.id)?.at(-1);
      if (summary === undefined || (replayed !== undefined && replayed !== (replay !== undefined))) continue;
      deadLetters.push(toDeadLetterItem(summary, replay));
      if (deadLetters.length < limit) continue;
      next = findMatch(sorted, filter, i + 1);
      break;
    }
    if (next >= sorted.length) break;
  }
  const last = next < sorted.length ? sorted[next - 1] : undefined;
  return { deadLetters, next: last === undefined ? null : toCursor(last) };
}

/** The first index from `start` on that matches; the length where none does. */
function findMatch(sorted: readonly DeadLetterSummary[], filter: DeadLetterFilter, start: number): number {
  for (let i = start; i < sorted.length; i += 1) {
    const summary = sorted[i];
    if (summary !== undefined && matchesFilter(summary, filter)) return i;
  }
  return sorted.length;
}

/** A dead letter without a time is neither old nor new. */
export function matchesFilter(
  { id, code, time }: Pick<DeadLetterSummary, "id" | "code" | "time">,
  { ids, codes, from, to }: DeadLetterFilter,
): boolean {
  if (ids !== undefined && !ids.has(id)) return false;
  if (codes !== undefined && !codes.has(code)) return false;
  if (from !== undefined && (time === undefined || time < from)) return false;
  return to === undefined || (time !== undefined && time <= to);
}

const cursors = createCursorFormat("dead-letters", ["integer", "integer", "integer"]);

const toCursor = ({ rank, position }: SortKey): string =>
  cursors.encode([rank, position.partition, position.offset]);

/** The index of the first dead letter after the cursor in a sorted list. Throws a RejectionError. */
function findAfter(sorted: readonly DeadLetterSummary[], cursor: string): number {
  const [rank, partition, offset] = cursors.decode(cursor);
  const key = { rank, position: { partition, offset } };
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const summary = sorted[middle];
    if (summary !== undefined && compareNewestFirst(summary, key) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
