import { styleText } from "node:util";

import Table from "cli-table3";

let chapters = 0;

export const printLine = (text = ""): void => void process.stdout.write(`${text}\n`);

/** Prints a numbered heading. */
export function printHeading(title: string): void {
  chapters += 1;
  printLine();
  printLine(styleText(["bold", "cyan"], `${chapters}. ${title}`));
}

/** Prints an indented line. */
export const printIndented = (text: string): void => {
  printLine(`  ${text}`);
};

/** Prints a request and its response. */
export function printExchange(request: string, response: string): void {
  printLine(`  ${styleText("dim", "→")} ${request}`);
  printLine(`  ${styleText("dim", "←")} ${response}`);
}

/** Prints an indented table. */
export function printTable(head: string[], rows: (string | number)[][], widths?: number[]): void {
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

export const green = (text: string): string => styleText("green", text);
export const yellow = (text: string): string => styleText("yellow", text);
