import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit, type Document } from "yaml";

import { getErrorMessage } from "@topicsync/lib/errors";
import { formatPlace, type FilePlace } from "../../../plans/desired.ts";

/** Something that is wrong in a file. */
export interface PlacedFault {
  readonly place: FilePlace;
  readonly message: string;
}

/** A YAML or JSON text whose members have places. */
export interface PlacedDocument {
  readonly value: unknown;
  /** What makes the text ambiguous or unreadable; the value is undefined then. */
  readonly faults: readonly PlacedFault[];
  /** The place of the member that a JSON Pointer leads to, or of the nearest one around it. */
  readonly locate: (pointer: string) => FilePlace;
}

/** Parses YAML 1.2, of which JSON is a part. `firstLine` is the number of the text's first line. */
export function parsePlaced(file: string, text: string, firstLine = 1): PlacedDocument {
  const lines = new LineCounter();
  const toPlace = (offset: number): FilePlace => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1) + firstLine - 1, column: Math.max(col, 1) };
  };
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // Duplicates are reported with both places, below.
    uniqueKeys: false,
    stringKeys: true,
  });
  const faults = findFaults(document, toPlace);
  return {
    value: faults.length === 0 ? document.toJS() : undefined,
    faults,
    locate: (pointer) => toPlace(findOffset(document, pointer)),
  };
}

function findFaults(
  document: Document.Parsed,
  toPlace: (offset: number) => FilePlace,
): readonly PlacedFault[] {
  const faults: PlacedFault[] = [];
  const add = (offset: number, message: string): void =>
    void faults.push({ place: toPlace(offset), message });
  for (const problem of [...document.errors, ...document.warnings])
    add(
      problem.pos[0],
      problem.code === "MULTIPLE_DOCS"
        ? "a file has one document; remove the line ---"
        : getErrorMessage(problem),
    );
  if (document.directives.yaml.version !== "1.2") add(0, "the YAML version must be 1.2");
  visit(document, {
    Alias(_key, alias) {
      add(
        alias.range?.[0] ?? 0,
        "aliases are not supported; `defaults` sets members of all topics of a file",
      );
    },
    Map(_key, { items }) {
      const seen = new Map<string, number>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const [name, offset] = [String(key.value), key.range?.[0] ?? 0];
        const first = seen.get(name);
        if (first === undefined) seen.set(name, offset);
        else add(offset, `"${name}" is already set at ${formatPlace(toPlace(first))}`);
      }
    },
  });
  return faults;
}

/** The offset of the key of a member, or of an item of a list. */
function findOffset({ contents }: Document.Parsed, pointer: string): number {
  let node: unknown = contents;
  let offset = contents?.range[0] ?? 0;
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
      if (pair === undefined) break;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      const item = node.items[Number(name)];
      if (!isMap(item) && !isSeq(item) && !isScalar(item) && !isAlias(item)) break;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else break;
  }
  return offset;
}
