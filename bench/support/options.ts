import { InvalidArgumentError, Option } from "commander";

/** Which of the stores to measure on. */
export type StoreChoice = "embedded" | "memory" | "both";

/** What every measurement is told. */
export interface CommonOptions {
  readonly store: StoreChoice;
  readonly json?: true;
}

/** A commander parser: a whole number above zero. */
export function positive(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("It must be a positive number.");
  return Number(text);
}

/** A commander parser: such numbers, with commas between them. */
export const positives = (text: string): number[] => text.split(",").map(positive);

export const jsonOption = (): Option =>
  new Option(
    "--json",
    "print the results as JSON instead of tables; progress goes to the standard error anyway",
  );

/** The options of every measurement of the service, made anew for each: commander keeps what was given in them. */
export const commonOptions = (): Option[] => [
  new Option(
    "--store <which>",
    "the embedded store (mongod or SecantusDB), mongo-java-server in memory, or both",
  )
    .choices(["embedded", "memory", "both"])
    .default("both"),
  jsonOption(),
];
