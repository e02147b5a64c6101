import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";

import { topicBodySchema, type TopicBody } from "../../../schemas/topic.ts";
import { toSentence } from "../../lib/errors.ts";
import { findFilterFaults } from "../../matching/filter/topic-filters.ts";
import { toDefinition } from "../../topics/topic.ts";
import { createValidator } from "../../lib/validation.ts";
import { parseJson, splitLines } from "./files.ts";

/** Something that can be read more than once. */
export interface Source {
  readonly name: string;
  readonly open: () => Readable;
}

/** A file; "-" is standard input, which is kept in memory. */
export async function openSource(file: string): Promise<Source> {
  if (file !== "-") return { name: file, open: () => createReadStream(file) };
  const all = await buffer(process.stdin);
  return { name: "standard input", open: () => Readable.from([all]) };
}

/** A definition, and where it stands: `file:line`, or `file[index]` in an array. */
export interface PlacedDefinition {
  readonly place: string;
  readonly body: TopicBody;
}

/** Something that is no definition. */
export interface InputFault {
  readonly place: string;
  readonly fault: string;
}

const checkTopic = createValidator<TopicBody>(topicBodySchema);

/**
 * The definitions of a source: NDJSON (one on each line), a JSON array of them, or a single JSON object. Whatever is no
 * definition comes out as a fault. Throws when the source cannot be read.
 */
export async function* definitionsIn(source: Source): AsyncGenerator<PlacedDefinition | InputFault> {
  for await (const { place, json } of valuesIn(source)) {
    if (json instanceof Error) {
      yield { place, fault: `is not JSON: ${json.message}` };
      continue;
    }
    const checked = checkTopic(json);
    const faults = checked.ok ? findFilterFaults(toDefinition(checked.value)) : checked.faults;
    if (checked.ok && faults.length === 0) yield { place, body: checked.value };
    else yield { place, fault: toSentence(faults, "The definition") };
  }
}

/** The definitions of all sources, one source after another. */
export async function* allDefinitions(
  sources: readonly Source[],
): AsyncGenerator<PlacedDefinition | InputFault> {
  for (const source of sources) yield* definitionsIn(source);
}

interface PlacedValue {
  readonly place: string;
  /** An error where there is no JSON. */
  readonly json: unknown;
}

async function* valuesIn({ name, open }: Source): AsyncGenerator<PlacedValue> {
  /** Lines of one JSON text; undefined once it is known that each line is one of its own. */
  let together: { readonly line: string; readonly place: string }[] | undefined = [];
  for await (const { text: line, number } of splitLines(open())) {
    if (line.trim() === "") continue;
    const place = `${name}:${number}`;
    if (together === undefined) {
      yield { place, json: parseJson(line) };
    } else if (together.length === 0 && isObject(parseJson(line))) {
      together = undefined;
      yield { place, json: parseJson(line) };
    } else {
      together.push({ line, place });
    }
  }
  if (together === undefined || together.length === 0) return;
  const whole = parseJson(together.map(({ line }) => line).join("\n"));
  if (Array.isArray(whole)) {
    for (const [index, json] of whole.entries()) yield { place: `${name}[${index}]`, json };
  } else if (whole instanceof Error && together.some(({ line }) => isObject(parseJson(line)))) {
    // NDJSON after all, with a first line that is wrong.
    for (const { line, place } of together) yield { place, json: parseJson(line) };
  } else {
    yield { place: name, json: whole };
  }
}

const isObject = (json: unknown): boolean =>
  typeof json === "object" && json !== null && !Array.isArray(json) && !(json instanceof Error);
