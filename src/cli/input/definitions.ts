import { hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";

import { collectBatches } from "@topicsync/lib/concurrency/batches";
import { formatFaults } from "@topicsync/lib/errors";
import { findFilterFaults } from "@topicsync/filters";
import type { TopicBody } from "../../../schemas/topics/topic.ts";
import { checkTopicBody, getCombination, toDefinition } from "../../topics/topic.ts";
import { printError, sanitize } from "../output/output.ts";
import { tryParseJson, splitLines } from "./files.ts";

/** An input that can be read more than once. */
export interface DefinitionSource {
  readonly name: string;
  readonly open: () => Readable;
}

/** Opens a file; "-" is standard input, which is buffered in memory. */
export async function openSource(file: string): Promise<DefinitionSource> {
  if (file !== "-") return { name: file, open: () => createReadStream(file) };
  const all = await buffer(process.stdin);
  return { name: "standard input", open: () => Readable.from([all]) };
}

/** A definition and its place: `file:line`, or `file[index]` in an array. */
export interface PlacedDefinition {
  readonly place: string;
  readonly body: TopicBody;
}

/** A value that is not a valid definition. */
interface InputFault {
  readonly place: string;
  readonly fault: string;
}

/**
 * Reads definitions: NDJSON, a JSON array, or a single JSON object in each source. Invalid definitions are
 * yielded as faults. Throws when a source cannot be read.
 */
async function* readDefinitions(
  sources: readonly DefinitionSource[],
): AsyncGenerator<PlacedDefinition | InputFault> {
  for (const source of sources)
    for await (const { place, json } of readValues(source)) yield toDefinitionOrFault(place, json);
}

/** Reads definitions in batches. They were all valid before: throws if one is not any more. */
export async function* readDefinitionBatches(
  sources: readonly DefinitionSource[],
  batchSize: number,
): AsyncGenerator<readonly PlacedDefinition[]> {
  for await (const batch of collectBatches(readDefinitions(sources), batchSize))
    yield batch.map((one) => {
      if ("body" in one) return one;
      throw new Error(`${one.place} changed while it was read: it ${one.fault}`);
    });
}

function toDefinitionOrFault(place: string, json: unknown): PlacedDefinition | InputFault {
  if (json instanceof Error) return { place, fault: `is not JSON: ${json.message}` };
  const checked = checkTopicBody(json);
  const faults = checked.ok ? findFilterFaults(toDefinition(checked.value)) : checked.faults;
  if (checked.ok && faults.length === 0) return { place, body: checked.value };
  return { place, fault: formatFaults(faults, "The definition") };
}

const maxFaultsShown = 20;

/** Finds definitions that cannot be stored together with one before. */
function createRepetitionCheck(): (one: PlacedDefinition) => InputFault | undefined {
  const places = new Map<string, string>();
  return ({ place, body }) => {
    const definition = toDefinition(body);
    for (const [what, value] of [
      ["external id", definition.externalId],
      ["name, namespace and filters", hash("sha256", getCombination(definition))],
    ] as const) {
      const key = `${what} ${value}`;
      const first = places.get(key);
      if (first !== undefined) return { place, fault: `has the same ${what} as ${first}` };
      places.set(key, place);
    }
    return undefined;
  };
}

/**
 * Validates and counts the definitions, which must differ in their unique values unless they are announced.
 * Prints the faults and returns undefined if there are any.
 */
export async function countDefinitions(
  sources: readonly DefinitionSource[],
  done: "announced" | "imported" | "previewed",
): Promise<number | undefined> {
  const faults: InputFault[] = [];
  let count = 0;
  let faultsNotShown = 0;
  const findRepeated = done === "announced" ? () => undefined : createRepetitionCheck();
  for await (const read of readDefinitions(sources)) {
    const one = ("body" in read && findRepeated(read)) || read;
    if ("body" in one) count += 1;
    else if (faults.length < maxFaultsShown) faults.push(one);
    else faultsNotShown += 1;
  }
  if (faults.length === 0) return count;
  for (const { place, fault } of faults) printError(sanitize(`${place}: ${fault}`));
  if (faultsNotShown > 0) printError(`and ${faultsNotShown} more`);
  if (sources.some(({ name }) => /\.ya?ml$/i.test(name)))
    printError("YAML is read by `topicsync topics plan` and `topicsync topics apply`.");
  printError(`Nothing was ${done}.`);
  return undefined;
}

interface PlacedValue {
  readonly place: string;
  /** An Error where the text is not JSON. */
  readonly json: unknown;
}

interface PlacedLine {
  readonly line: string;
  readonly place: string;
}

async function* readValues({ name, open }: DefinitionSource): AsyncGenerator<PlacedValue> {
  /**
   * The lines of one JSON text; undefined once the first line has turned out to be an object: then it is
   * NDJSON.
   */
  let together: PlacedLine[] | undefined = [];
  for await (const { text: line, number } of splitLines(open())) {
    if (line.trim() === "") continue;
    const place = `${name}:${number}`;
    if (together?.length === 0 && isObject(tryParseJson(line))) together = undefined;
    if (together === undefined) yield { place, json: tryParseJson(line) };
    else together.push({ line, place });
  }
  if (together === undefined || together.length === 0) return;
  const whole = tryParseJson(together.map(({ line }) => line).join("\n"));
  if (Array.isArray(whole)) {
    for (const [index, json] of whole.entries()) yield { place: `${name}[${index}]`, json };
  } else if (whole instanceof Error && together.some(({ line }) => isObject(tryParseJson(line)))) {
    // NDJSON with an invalid first line.
    for (const { line, place } of together) yield { place, json: tryParseJson(line) };
  } else {
    yield { place: name, json: whole };
  }
}

const isObject = (json: unknown): boolean =>
  typeof json === "object" && json !== null && !Array.isArray(json) && !(json instanceof Error);
