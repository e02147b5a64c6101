import { InvalidArgumentError } from "commander";
import ms, { type StringValue } from "ms";

export interface JsonFlag {
  readonly json?: true | undefined;
}

export interface ForceFlag extends JsonFlag {
  /** Changes a topic although it belongs to a set. */
  readonly force?: true | undefined;
}

export const forceOption = [
  "--force",
  "also if it belongs to a set, whose next apply may change it back",
] as const;

/**
 * Parses the value of an option such as `--unseen-for 2h`. Returns milliseconds; throws InvalidArgumentError.
 */
export function parseDuration(given: string): number {
  const span =
    /^\d.*[a-z]$/i.test(given) && given.length < 100
      ? (ms(given as StringValue) as number | undefined)
      : undefined;
  if (span === undefined || !Number.isSafeInteger(Math.round(span)))
    throw new InvalidArgumentError("A duration is a number with its unit: 45s, 30m, 2h, 7d.");
  return span;
}

/** Parses the value of an option such as `--limit 100`. Throws InvalidArgumentError. */
export function parseCount(given: string): number {
  if (!/^[1-9]\d{0,8}$/.test(given)) throw new InvalidArgumentError("It must be a whole number, 1 or more.");
  return Number(given);
}

/** Parses the value of an option such as `--if-version 3`. Throws InvalidArgumentError. */
export function parseVersion(given: string): number {
  if (!/^\d{1,15}$/.test(given)) throw new InvalidArgumentError("A version is a whole number, 0 or more.");
  return Number(given);
}
