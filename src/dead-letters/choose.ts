import type { DeadLetter, DeadLetterCode } from "./dead-letter.ts";

/** Which letters are meant. What is absent does not narrow the choice. */
export interface Choice {
  readonly ids?: ReadonlySet<string>;
  readonly codes?: ReadonlySet<DeadLetterCode>;
  /** Announced at this time or later. */
  readonly from?: Date;
  /** Announced at this time or earlier. */
  readonly to?: Date;
}

/** Whether a letter is meant. A letter without a time is neither old nor new. */
export function isChosen({ id, code, time }: DeadLetter, { ids, codes, from, to }: Choice): boolean {
  if (ids !== undefined && !ids.has(id)) return false;
  if (codes !== undefined && !codes.has(code)) return false;
  if (from !== undefined && (time === undefined || time < from)) return false;
  return to === undefined || (time !== undefined && time <= to);
}
