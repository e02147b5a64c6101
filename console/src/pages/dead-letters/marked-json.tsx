import { useMemo } from "preact/hooks";

import type { DeadLetterView } from "../../../../schemas/dead-letters.ts";
import { counted } from "../../components/format.ts";
import { visible } from "./bytes.ts";
import type { JsonLine } from "./json-lines.ts";
import { findMarks, shownLines } from "./marks.ts";

interface MarkedJsonProps {
  readonly lines: readonly JsonLine[];
  readonly faults: DeadLetterView["details"];
}

const maxCharacters = 2_000;
const deepest = 20;

/** JSON with what is wrong under each line that it is wrong with. */
export function MarkedJson({ lines, faults }: MarkedJsonProps) {
  const marks = useMemo(() => findMarks(lines, faults), [lines, faults]);
  const shown = useMemo(() => shownLines(lines.length, marks), [lines, marks]);
  return (
    <pre class="content" tabIndex={0} role="region" aria-label="JSON">
      {shown.map((one) => {
        if ("left" in one) return <span>{`… ${counted(one.left)} lines\n`}</span>;
        const { depth, text } = lines[one.at] ?? { depth: 0, text: "" };
        const indent = "  ".repeat(Math.min(depth, deepest));
        const wrong = marks.get(one.at);
        if (wrong === undefined) return <span key={one.at}>{`${indent}${cut(text)}\n`}</span>;
        return (
          <span key={one.at}>
            {indent}
            <mark>{cut(text)}</mark>
            {"\n"}
            {wrong.map((message) => (
              <strong class="fault" key={message}>{`${indent}✗ ${visible(message)}\n`}</strong>
            ))}
          </span>
        );
      })}
    </pre>
  );
}

function cut(text: string): string {
  const shown = visible(text.slice(0, maxCharacters));
  return text.length <= maxCharacters
    ? shown
    : `${shown}… ${counted(text.length - maxCharacters)} characters more`;
}
