import type { FilterSyntaxError } from "../../matching/filter/filter.ts";
import { sanitize } from "./output.ts";

/** So wide is the part of a long text that is shown, in columns. */
const windowWidth = 70;
/** A fault may quote the text; more of it is not shown. */
const maxProblem = 200;

/** A character as it is shown. */
interface Cell {
  readonly shown: string;
  /** In columns. */
  readonly width: number;
}

/**
 * A filter's text, or what is around the fault of a long one, with a caret under the fault, and what is wrong. Three lines,
 * safe to show.
 */
export function faultLines(text: string, { problem, position }: FilterSyntaxError): string[] {
  return [
    ...caretLines(text, position),
    `error: the filter ${shortened(problem)} (character ${position + 1})`,
  ];
}

/** A text and below it a caret at a place, counted in UTF-16 code units, which may be its end. Two lines, safe to show. */
export function caretLines(text: string, position: number): string[] {
  const cells = cellsOf(text);
  const at = cellsOf(text.slice(0, position)).length;
  const rightMost = Math.max(windowWidth - widthOf(cells.slice(0, at)), windowWidth / 2);
  const right = fitting(cells.slice(at), rightMost);
  const left = fitting(cells.slice(0, at).reverse(), windowWidth - widthOf(right)).reverse();
  const before = left.length < at ? "…" : "";
  const behind = at + right.length < cells.length ? "…" : "";
  return [
    `  ${before}${textOf(left)}${textOf(right)}${behind}`,
    `  ${" ".repeat(before.length + widthOf(left))}^`,
  ];
}

const cellsOf = (text: string): Cell[] =>
  Array.from(text, (character) => {
    const shown = sanitize(character);
    return { shown, width: shown === character ? columnsOf(character) : shown.length };
  });

/** Close to what terminals do: marks stand on the character before them, East Asian characters and emoji are wide. */
function columnsOf(character: string): number {
  if (/\p{M}/u.test(character)) return 0;
  return /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{Emoji_Presentation}\uFF01-\uFF60]/u.test(
    character,
  )
    ? 2
    : 1;
}

const widthOf = (cells: readonly Cell[]): number => cells.reduce((sum, { width }) => sum + width, 0);
const textOf = (cells: readonly Cell[]): string => cells.map(({ shown }) => shown).join("");

/** The first cells, as many as fit into a width. */
function fitting(cells: readonly Cell[], most: number): Cell[] {
  let width = 0;
  const end = cells.findIndex((cell) => (width += cell.width) > most);
  return cells.slice(0, end === -1 ? cells.length : end);
}

/** A text without its middle where it is long: the end may say what to do. */
function shortened(text: string): string {
  const half = maxProblem / 2;
  return sanitize(text.length <= maxProblem ? text : `${text.slice(0, half)}…${text.slice(-half)}`);
}
