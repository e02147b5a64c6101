import type { DeadLetterView } from "../../../../schemas/dead-letters.ts";
import type { JsonLine } from "./json-lines.ts";

type Fault = DeadLetterView["details"][number];

/** What is wrong with the value on a line, by the line's number from 0. */
export type Marks = ReadonlyMap<number, readonly string[]>;

/** Puts each fault to the lines that it means; what is missing is told where it would have been. */
export function findMarks(lines: readonly JsonLine[], faults: readonly Fault[]): Marks {
  const places = new Map<string, number[]>();
  for (const [at, { pointer }] of lines.entries())
    if (pointer !== undefined) places.set(pointer, [...(places.get(pointer) ?? []), at]);

  const marks = new Map<number, string[]>();
  for (const { path, message } of faults) {
    let found = path;
    while (!places.has(found) && found !== "") found = found.slice(0, Math.max(found.lastIndexOf("/"), 0));
    const text = found === path ? message : `${path} ${message}`;
    for (const at of places.get(found) ?? []) marks.set(at, [...(marks.get(at) ?? []), text]);
  }
  return marks;
}

/** Lines that are shown, and how many are left out between them. */
export type Shown = { readonly at: number } | { readonly left: number };

const maxLines = 400;
const around = 5;

/** The lines to show: all, or of very many the first and those around what is marked. */
export function shownLines(count: number, marks: Marks): readonly Shown[] {
  const shown: Shown[] = [];
  let left = 0;
  const near = new Set([...marks.keys()].flatMap((at) => neighbours(at)));
  for (let at = 0; at < count; at += 1) {
    if (count > maxLines && at >= maxLines / 2 && !near.has(at)) {
      left += 1;
      continue;
    }
    if (left > 0) shown.push({ left });
    left = 0;
    shown.push({ at });
  }
  return left > 0 ? [...shown, { left }] : shown;
}

const neighbours = (at: number): readonly number[] =>
  Array.from({ length: 2 * around + 1 }, (_, i) => at - around + i);
