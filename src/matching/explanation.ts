import { maxFoundValues, type PickResponse } from "../../schemas/pick.ts";
import { printCondition } from "./filter/to-text.ts";
import type { ConditionResult } from "./picker/explain.ts";

/** Converts condition results to the JSON of HTTP and the command line. */
export const toExplanation = (
  externalId: string,
  results: readonly ConditionResult[],
): NonNullable<PickResponse["explain"]> => ({
  externalId,
  matches: results.every(({ held }) => held),
  conditions: results.map(({ condition, held, found }) => ({
    filter: condition.member,
    condition: printCondition(condition),
    held,
    found: found.slice(0, maxFoundValues),
  })),
});
