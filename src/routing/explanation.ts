import { printCondition, type ConditionResult } from "@topicsync/filters";
import { maxFoundValues, type PickResponse } from "../../schemas/pick.ts";

/** Why a value that looks right may not match. */
export const notATime = "not an RFC 3339 time, so it does not match";

/** Converts condition results to the JSON of HTTP and the command line. */
export const toExplanation = (
  externalId: string,
  results: readonly ConditionResult[],
): NonNullable<PickResponse["explain"]> => ({
  externalId,
  matches: results.every(({ held }) => held),
  conditions: results.map(({ condition, held, found, missesTime }) => ({
    filter: condition.member,
    condition: printCondition(condition),
    held,
    found: found.slice(0, maxFoundValues),
    ...(missesTime && { note: notATime }),
  })),
});
