import { InvalidArgumentError, Option, type Command } from "commander";

import type { Choice } from "../../dead-letters/choose.ts";
import { deadLetterCodes, type DeadLetterCode } from "../../dead-letters/dead-letter.ts";
import { parseDuration } from "../input/options.ts";

/** The options that choose dead letters, as they were given. */
export interface ChoiceFlags {
  readonly code?: DeadLetterCode[];
  readonly id?: string[];
  /** Milliseconds. */
  readonly newerThan?: number;
  readonly olderThan?: number;
}

/** Adds the options that choose dead letters. */
export const withChoice = (command: Command): Command =>
  command
    .addOption(
      new Option("--code <code...>", "refused with one of these codes")
        .choices(deadLetterCodes)
        .argParser(code),
    )
    .option("--newer-than <duration>", "announced within this time: 45s, 30m, 2h, 7d", parseDuration)
    .option("--older-than <duration>", "announced before this time", parseDuration);

/** What the options say. */
export function toDeadLetterChoice({ code: codes, id: ids, newerThan, olderThan }: ChoiceFlags): Choice {
  const now = Date.now();
  return {
    ...(codes && { codes: new Set(codes) }),
    ...(ids && { ids: new Set(ids) }),
    ...(newerThan !== undefined && { from: new Date(now - newerThan) }),
    ...(olderThan !== undefined && { to: new Date(now - olderThan) }),
  };
}

function code(given: string, previous: DeadLetterCode[] = []): DeadLetterCode[] {
  const known = deadLetterCodes.find((one) => one === given);
  if (known === undefined) throw new InvalidArgumentError(`Known codes are ${deadLetterCodes.join(", ")}.`);
  return [...previous, known];
}
