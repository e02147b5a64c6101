import { formatCursor, newestFirst, parseCursor, type DeadLetterSummary } from "./summary.ts";
import type { ReplayWithOutcome } from "./outcome.ts";

/** Which page of which letters. */
export interface PageRequest {
  readonly code: string | undefined;
  /** Those that were replayed, or those that were not. */
  readonly replayed: boolean | undefined;
  /** The cursor of another page: the letters behind it. */
  readonly after: string | undefined;
  readonly limit: number;
}

export interface DeadLetterPageKeys {
  readonly letters: readonly {
    readonly facts: DeadLetterSummary;
    readonly replay: ReplayWithOutcome | undefined;
  }[];
  /** Where the next one begins; undefined behind the last. */
  readonly next: string | undefined;
}

/** Looked up together. */
const batchSize = 500;
/** Whoever looks for few among many gets a short page after so many, and goes on from there. */
const maxLookedAt = 10_000;

/** A page of letters that lie in their order; `replaysOf` tells how letters were replayed, the oldest first. */
export async function readPage(
  all: readonly DeadLetterSummary[],
  { code, replayed, after, limit }: PageRequest,
  replaysOf: (ids: readonly string[]) => Promise<ReadonlyMap<string, readonly ReplayWithOutcome[]>>,
): Promise<DeadLetterPageKeys> {
  const chosen = chosenBehind(all, code, after);
  const letters: DeadLetterPageKeys["letters"][number][] = [];
  const step = replayed === undefined ? limit : batchSize;
  for (let at = 0; at < Math.min(chosen.length, maxLookedAt); at += step) {
    const batch = chosen.slice(at, at + step);
    const made = await replaysOf(batch.map(({ id }) => id));
    for (const [i, facts] of batch.entries()) {
      const replay = made.get(facts.id)?.at(-1);
      if (replayed !== undefined && replayed !== (replay !== undefined)) continue;
      letters.push({ facts, replay });
      if (letters.length === limit)
        return { letters, next: at + i + 1 < chosen.length ? formatCursor(facts) : undefined };
    }
  }
  const last = chosen.length > maxLookedAt ? chosen[maxLookedAt - 1] : undefined;
  return { letters, next: last && formatCursor(last) };
}

function chosenBehind(
  all: readonly DeadLetterSummary[],
  code: string | undefined,
  after: string | undefined,
): readonly DeadLetterSummary[] {
  const ofCode = code === undefined ? all : all.filter((one) => one.code === code);
  if (after === undefined) return ofCode;
  const cursor = parseCursor(after);
  const first = ofCode.findIndex((one) => newestFirst(one, cursor) > 0);
  return first === -1 ? [] : ofCode.slice(first);
}
