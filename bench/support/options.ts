import { InvalidArgumentError, Option } from "commander";

export type StoreChoice = "embedded" | "memory" | "both";

export interface CommonOptions {
  readonly store: StoreChoice;
  readonly json?: true;
}

export function parsePositive(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("must be a positive whole number");
  return Number(text);
}

export const parsePositives = (text: string): number[] => text.split(",").map(parsePositive);

export const createJsonOption = (): Option =>
  new Option("--json", "print the results as JSON; progress goes to standard error");

/** Creates new options for each command, because commander stores values in them. */
export const createCommonOptions = (): Option[] => [
  new Option("--store <kind>", "embedded (mongod or SecantusDB), memory (mongo-java-server) or both")
    .choices(["embedded", "memory", "both"])
    .default("both"),
  createJsonOption(),
];
