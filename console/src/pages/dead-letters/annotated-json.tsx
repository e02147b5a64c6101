import { useMemo } from "preact/hooks";

import type { DeadLetterView } from "../../../../schemas/dead-letters/dead-letter.ts";
import { formatCount } from "../../components/format.ts";
import { escapeInvisible } from "./bytes.ts";
import type { JsonLine } from "./json-lines.ts";

interface AnnotatedJsonProps {
  readonly lines: readonly JsonLine[];
  readonly faults: DeadLetterView["details"];
}

const maxCharacters = 2_000;
const maxIndent = 20;

/** JSON with each fault below the line that it is about. */
export function AnnotatedJson({ lines, faults }: AnnotatedJsonProps) {
  const annotations = useMemo(() => annotate(lines, faults), [lines, faults]);
  const shown = useMemo(() => selectLines(lines.length, annotations), [lines, annotations]);
  return (
    <pre class="content" tabIndex={0} role="region" aria-label="JSON">
      {shown.map((one) => {
        if ("omitted" in one) return <span>{`… ${formatCount(one.omitted)} lines\n`}</span>;
        const { depth, text } = lines[one.at] ?? { depth: 0, text: "" };
        const indent = "  ".repeat(Math.min(depth, maxIndent));
        const messages = annotations.get(one.at);
        if (messages === undefined) return <span key={one.at}>{`${indent}${cut(text)}\n`}</span>;
        return (
          <span key={one.at}>
            {indent}
            <mark>{cut(text)}</mark>
            {"\n"}
            {messages.map((message) => (
              <strong class="fault" key={message}>{`${indent}✗ ${escapeInvisible(message)}\n`}</strong>
            ))}
          </span>
        );
      })}
    </pre>
  );
}

function cut(text: string): string {
  const shown = escapeInvisible(text.slice(0, maxCharacters));
  return text.length <= maxCharacters
    ? shown
    : `${shown}… ${formatCount(text.length - maxCharacters)} more characters`;
}

/** The messages about each line, by its index. */
type Annotations = ReadonlyMap<number, readonly string[]>;

/** Assigns each fault to the lines at its path; a fault about a missing member goes to the parent. */
function annotate(lines: readonly JsonLine[], faults: DeadLetterView["details"]): Annotations {
  const linesByPath = new Map<string, number[]>();
  for (const [at, { pointer }] of lines.entries())
    if (pointer !== undefined) linesByPath.set(pointer, [...(linesByPath.get(pointer) ?? []), at]);

  const annotations = new Map<number, string[]>();
  for (const { path, message } of faults) {
    let parent = path;
    while (!linesByPath.has(parent) && parent !== "")
      parent = parent.slice(0, Math.max(parent.lastIndexOf("/"), 0));
    const text = parent === path ? message : `${path} ${message}`;
    for (const at of linesByPath.get(parent) ?? [])
      annotations.set(at, [...(annotations.get(at) ?? []), text]);
  }
  return annotations;
}

/** A line to show, or a number of lines that are left out. */
type ShownLine = { readonly at: number } | { readonly omitted: number };

const maxLines = 400;
const contextLines = 5;

/** All lines, or of many the first and those around annotations. */
function selectLines(count: number, annotations: Annotations): readonly ShownLine[] {
  const shown: ShownLine[] = [];
  let omitted = 0;
  const near = new Set([...annotations.keys()].flatMap((at) => neighbours(at)));
  for (let at = 0; at < count; at += 1) {
    if (count > maxLines && at >= maxLines / 2 && !near.has(at)) {
      omitted += 1;
      continue;
    }
    if (omitted > 0) shown.push({ omitted });
    omitted = 0;
    shown.push({ at });
  }
  return omitted > 0 ? [...shown, { omitted }] : shown;
}

const neighbours = (at: number): readonly number[] =>
  Array.from({ length: 2 * contextLines + 1 }, (_, i) => at - contextLines + i);
