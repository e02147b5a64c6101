import { allDefinitions, type InputFault, type Source } from "./definitions.ts";
import { printError, sanitize } from "../output/output.ts";

const maxFaultsShown = 20;

/** Counts the definitions; undefined when there are faults, which are told, and `done` was not done for any. */
export async function countDefinitions(
  sources: readonly Source[],
  done: "announced" | "imported",
): Promise<number | undefined> {
  const faults: InputFault[] = [];
  let count = 0;
  let more = 0;
  for await (const one of allDefinitions(sources)) {
    if ("body" in one) count += 1;
    else if (faults.length < maxFaultsShown) faults.push(one);
    else more += 1;
  }
  if (faults.length === 0) return count;
  for (const { place, fault } of faults) printError(sanitize(`${place}: ${fault}`));
  if (more > 0) printError(`and ${more} more`);
  printError(`Nothing was ${done}.`);
  return undefined;
}
