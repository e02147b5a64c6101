import { InvalidArgumentError } from "commander";
import ms, { type StringValue } from "ms";

import { isDateTime } from "@topicsync/lib/time";
import type { OffsetRange } from "@topicsync/kafka";
import { durationPattern, durationRule } from "../../../schemas/topics/usage.ts";

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

/** The time this long ago. */
export const formatTimeAgo = (spanMs: number): string =>
  new Date(Math.max(0, Date.now() - spanMs)).toISOString();

/** Parses a duration as the time this long ago. Throws InvalidArgumentError. */
export const parseTimeAgo = (given: string): string => formatTimeAgo(parseDuration(given));

/** Checks the value of an option such as `--unused-for 30d`. Throws InvalidArgumentError. */
export function parseUnusedFor(given: string): string {
  if (!new RegExp(durationPattern).test(given)) throw new InvalidArgumentError(`It must be ${durationRule}.`);
  return given;
}

/** Parses the value of an option such as `--limit 100`. Throws InvalidArgumentError. */
export function parseCount(given: string): number {
  if (!/^[1-9]\d{0,8}$/.test(given)) throw new InvalidArgumentError("It must be a whole number, 1 or more.");
  return Number(given);
}

/** Parses the value of an option such as `--if-version 3`. Throws InvalidArgumentError. */
export function parseWhole(given: string): number {
  if (!/^\d{1,15}$/.test(given)) throw new InvalidArgumentError("It must be a whole number, 0 or more.");
  return Number(given);
}

/** Parses the value of an option such as `--from 2026-11-25T09:30:00Z`. Throws InvalidArgumentError. */
export function parseTime(given: string): number {
  if (!isDateTime(given))
    throw new InvalidArgumentError("A time has a date and a time zone: 2026-11-25T09:30:00Z.");
  return Date.parse(given);
}

/** The same, as a date. */
export const parseDate = (given: string): Date => new Date(parseTime(given));

/** Parses the value of an option such as `--offsets 0:100-200,1:50-90`. Throws InvalidArgumentError. */
export const parseRanges = (given: string): OffsetRange[] =>
  given.split(",").map((part) => {
    const match = /^(\d{1,9}):(\d{1,15})-(\d{1,15})$/.exec(part.trim());
    if (match === null)
      throw new InvalidArgumentError(
        "Offsets are PARTITION:FROM-TO, separated by commas: 0:100-200,1:50-90.",
      );
    const [partition = 0, from = 0, to = 0] = match.slice(1).map(Number);
    return { partition, from, to };
  });
