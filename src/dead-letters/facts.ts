import type { LetterItem } from "../../schemas/dead-letters.ts";
import type { Letter, LetterCode, Place } from "./letter.ts";

/** What of a letter is kept in memory. */
export interface LetterFacts {
  readonly id: string;
  readonly at: Place;
  readonly source: Place | undefined;
  /** Milliseconds since 1970. */
  readonly time: number | undefined;
  readonly code: LetterCode;
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

const mostMessageCharacters = 200;
const mostIdCharacters = 200;

/** What of a letter is kept. */
export const factsOf = (letter: Letter, more: Pick<LetterFacts, "copies" | "rank">): LetterFacts => ({
  id: letter.id,
  at: letter.at,
  source: letter.source,
  time: letter.time?.getTime(),
  code: letter.code,
  message: beginning(letter.message, mostMessageCharacters),
  externalId: beginning(letter.externalId, mostIdCharacters),
  ...more,
});

/** The parts that a list shows. */
export const itemOf = ({
  id,
  time,
  code,
  message,
  externalId,
  source,
}: LetterFacts): Omit<LetterItem, "replay"> => ({
  id,
  time: time === undefined ? null : new Date(time).toISOString(),
  code,
  message,
  externalId: externalId ?? null,
  source: source ?? null,
});

/** The newest first. */
export const newestFirst = (one: Order, other: Order): number =>
  other.rank - one.rank || other.at.partition - one.at.partition || other.at.offset - one.at.offset;

/** What the order of letters hangs on. */
export interface Order {
  readonly rank: number;
  readonly at: Pick<Place, "partition" | "offset">;
}

/** A place in the order, as a text. */
export const cursorOf = ({ rank, at }: Order): string => `${rank}-${at.partition}-${at.offset}`;

/** What such a text says. */
export function orderAt(cursor: string): Order {
  const [rank = 0, partition = 0, offset = 0] = cursor.split("-").map(Number);
  return { rank, at: { partition, offset } };
}

function beginning<T extends string | undefined>(text: T, most: number): T | string {
  if (text === undefined || text.length <= most) return text;
  // A slice alone would keep the whole text in memory.
  return Buffer.from(`${text.slice(0, most)}…`).toString();
}
