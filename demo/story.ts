import { styleText } from "node:util";

import Table from "cli-table3";

/** Prints a story for people: chapters, sentences, tables. */
let chapters = 0;

export const printLine = (text = ""): void => void process.stdout.write(`${text}\n`);

/** Begins a chapter. */
export function chapter(title: string): void {
  chapters += 1;
  printLine();
  printLine(styleText(["bold", "cyan"], `${chapters}. ${title}`));
}

/** A sentence of the story. */
export const tell = (text: string): void => {
  printLine(`  ${text}`);
};

/** What somebody does, and what comes of it. */
export function exchange(asked: string, answered: string): void {
  printLine(`  ${styleText("dim", "→")} ${asked}`);
  printLine(`  ${styleText("dim", "←")} ${answered}`);
}

/** A table, indented as the story is. */
export function table(head: string[], rows: (string | number)[][], widths?: number[]): void {
  const printed = new Table({
    head,
    style: {
      compact: true,
      ...(process.stdout.isTTY ? { head: ["bold"], border: ["gray"] } : { head: [], border: [] }),
    },
    ...(widths === undefined ? {} : { colWidths: widths, wordWrap: true }),
  });
  printed.push(...rows);
  printLine(printed.toString().replaceAll(/^/gm, "  "));
}

export const good = (text: string): string => styleText("green", text);
export const bad = (text: string): string => styleText("yellow", text);
