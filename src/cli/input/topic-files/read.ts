import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";

import { getErrorMessage, type Fault } from "@topicsync/lib/errors";
import { parseStrictJson } from "@topicsync/lib/json";
import { createValidator } from "@topicsync/lib/validation";
import {
  topicEntrySchema,
  topicFileHeaderSchema,
  type TopicEntry,
  type TopicFileHeader,
} from "../../../../schemas/topics/file.ts";
import { splitLines, tryParseJson } from "../files.ts";
import type { FilePlace } from "../../../plans/desired.ts";
import { parsePlaced, type PlacedFault } from "./document.ts";
import type { TopicFile } from "./find.ts";

/** What a file says, in order. */
export type FileItem =
  | { readonly kind: "set"; readonly place: FilePlace; readonly set: string }
  | {
      readonly kind: "topic";
      readonly place: FilePlace;
      readonly entry: TopicEntry;
      /** The place of the member that a JSON Pointer leads to. */
      readonly locate: Locate;
    }
  | ({ readonly kind: "fault" } & PlacedFault);

type Locate = (pointer: string) => FilePlace;

/** A larger YAML or JSON file would take more than a gigabyte of memory. NDJSON has no limit. */
const maxDocumentBytes = 16 * 1024 * 1024;

const checkEntry = createValidator<TopicEntry>(topicEntrySchema);
const checkHeader = createValidator<TopicFileHeader>(topicFileHeaderSchema);

/** Reads topics with the defaults of their file. All faults are found; none is thrown. */
export async function* readTopicFile(one: TopicFile): AsyncGenerator<FileItem> {
  try {
    if (one.format === "lines") yield* readLines(one);
    else yield* readDocument(one);
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    yield createFault(one.file, `cannot be read: ${getErrorMessage(error)}`);
  }
}

const createFault = (file: string, message: string): FileItem => ({
  kind: "fault",
  place: { file, line: 1, column: 1 },
  message,
});

async function* readDocument({ file }: TopicFile): AsyncGenerator<FileItem> {
  const { size } = await stat(file);
  if (size > maxDocumentBytes) {
    yield createFault(file, "is larger than 16 MiB; split it, or write NDJSON, which has no limit");
    return;
  }
  const text = new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file));
  const { value, faults, locate } = parsePlaced(file, text);
  for (const fault of faults) yield { kind: "fault", ...fault };
  if (faults.length > 0) return;
  if (value === null) {
    yield createFault(file, "is empty; a file without topics has `topics: []`");
    return;
  }
  const header = checkHeader(value);
  if (!header.ok) {
    for (const fault of header.faults) yield toPlacedFault(fault, "", locate);
    return;
  }
  const { set, defaults, topics } = header.value;
  if (set !== undefined) yield { kind: "set", place: locate("/set"), set };
  for (const [at, topic] of topics.entries()) {
    const pointer = `/topics/${at}`;
    const checked = checkEntry(topic);
    if (checked.ok)
      yield {
        kind: "topic",
        place: locate(pointer),
        entry: { ...defaults, ...checked.value },
        locate: (member) => locate(pointer + member),
      };
    else for (const fault of checked.faults) yield toPlacedFault(fault, pointer, locate);
  }
}

/** Lines are parsed as JSON; only an invalid one is parsed again for the places of its faults. */
async function* readLines({ file }: TopicFile): AsyncGenerator<FileItem> {
  let isEmpty = true;
  for await (const { text, number } of splitLines(createReadStream(file))) {
    if (text.trim() === "") continue;
    isEmpty = false;
    const value = tryParseJson(text, parseStrictJson);
    const checked = value instanceof Error ? undefined : checkEntry(value);
    if (checked?.ok === true) {
      yield {
        kind: "topic",
        place: { file, line: number, column: 1 },
        entry: checked.value,
        locate: (member) => parsePlaced(file, text, number).locate(member),
      };
      continue;
    }
    const { faults, locate } = parsePlaced(file, text, number);
    for (const fault of faults) yield { kind: "fault", ...fault };
    if (faults.length > 0) continue;
    if (checked === undefined)
      yield { kind: "fault", place: locate(""), message: `is not JSON: ${getErrorMessage(value)}` };
    else for (const fault of checked.faults) yield toPlacedFault(fault, "", locate);
  }
  if (isEmpty) yield createFault(file, "is empty");
}

/** Names the member, and the cure for a number that should be text. */
function toPlacedFault(fault: Fault, prefix: string, locate: Locate): FileItem {
  const cure = /must be a string, but is a (?:number|boolean)/.test(fault.message) ? "; quote it" : "";
  return {
    kind: "fault",
    place: locate(prefix + fault.path),
    message: `${formatMember(fault.path)} ${fault.message}${cure}`,
  };
}

/** A JSON Pointer in words: "consumers.0.name". */
export const formatMember = (pointer: string): string =>
  pointer === ""
    ? "the topic"
    : pointer.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");
