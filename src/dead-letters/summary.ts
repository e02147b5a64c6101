import type { DeadLetterItem } from "../../schemas/dead-letters.ts";
import type { DeadLetter, DeadLetterCode } from "./dead-letter.ts";
import type { RecordPosition } from "../sync/records.ts";

/** What of a letter is kept in memory. */
export interface DeadLetterSummary {
  readonly id: string;
  readonly at: RecordPosition;
  readonly source: RecordPosition | undefined;
  /** Milliseconds since 1970. */
  readonly time: number | undefined;
  readonly code: DeadLetterCode;
  /** The beginning of it, where it is long. */
  readonly message: string;
  readonly externalId: string | undefined;
  readonly copies: number;
  /**
   * The latest time that its partition had told of until then: what orders letters of several partitions, while those of one
   * keep their order whatever times they have.
   */
  readonly rank: number;
}

const maxMessageCharacters = 200;
const maxIdCharacters = 200;

/** What of a letter is kept. */
export const toSummary = (
  letter: DeadLetter,
  more: Pick<DeadLetterSummary, "copies" | "rank">,
): DeadLetterSummary => ({
  id: letter.id,
  at: letter.at,
  source: letter.source,
  time: letter.time?.getTime(),
  code: letter.code,
  message: beginning(letter.message, maxMessageCharacters),
  externalId: beginning(letter.externalId, maxIdCharacters),
  ...more,
});

/** The parts that a list shows. */
export const toListItem = ({
  id,
  time,
  code,
  message,
  externalId,
  source,
}: DeadLetterSummary): Omit<DeadLetterItem, "replay"> => ({
  id,
  time: time === undefined ? null : new Date(time).toISOString(),
  code,
  message,
  externalId: externalId ?? null,
  source: source ?? null,
});

/** The newest first. */
export const newestFirst = (one: SortKey, other: SortKey): number =>
  other.rank - one.rank || other.at.partition - one.at.partition || other.at.offset - one.at.offset;

/** What the order of letters hangs on. */
export interface SortKey {
  readonly rank: number;
  readonly at: Pick<RecordPosition, "partition" | "offset">;
}

/** A place in the order, as a text. */
export const formatCursor = ({ rank, at }: SortKey): string => `${rank}-${at.partition}-${at.offset}`;

/** What such a text says. */
export function parseCursor(cursor: string): SortKey {
  const [rank = 0, partition = 0, offset = 0] = cursor.split("-").map(Number);
  return { rank, at: { partition, offset } };
}

function beginning<T extends string | undefined>(text: T, most: number): T | string {
  if (text === undefined || text.length <= most) return text;
  // A slice alone would keep the whole text in memory.
  return Buffer.from(`${text.slice(0, most)}…`).toString();
}
