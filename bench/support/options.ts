import { InvalidArgumentError, Option } from "commander";

export type StoreChoice = "embedded" | "memory" | "both";

export interface CommonOptions {
  readonly store: StoreChoice;
  readonly json?: true;
}

/** A commander parser for a positive integer. */
export function positive(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("It must be a positive number.");
  return Number(text);
}

/** A commander parser for a comma-separated list of positive integers. */
export const positives = (text: string): number[] => text.split(",").map(positive);

export const jsonOption = (): Option =>
  new Option("--json", "print results as JSON; progress still goes to standard error");

/** New options for each command: commander stores the given values in them. */
export const commonOptions = (): Option[] => [
  new Option(
    "--store <which>",
    "stores to use: embedded (mongod or SecantusDB), memory (mongo-java-server) or both",
  )
    .choices(["embedded", "memory", "both"])
    .default("both"),
  jsonOption(),
];
