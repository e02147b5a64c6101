import type { Output } from "./output.ts";

export interface Column {
  readonly head: string;
  /** In characters; what is longer is cut. Without it the column is as wide as its widest cell. */
  readonly width?: number;
}

/** A table that is written while its rows come: nothing but the rows at hand is in memory. */
export interface Rows {
  /** False once nobody reads any more. */
  add(cells: readonly string[]): Promise<boolean>;
  end(): Promise<boolean>;
}

const rowsAtOnce = 200;
const borders = [
  "top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right",
  "left left-mid mid mid-mid right right-mid",
].flatMap((names) => names.split(" "));

/** Begins a table. */
export async function createRows(output: Output, columns: readonly Column[]): Promise<Rows> {
  const { default: Table } = await import("cli-table3");
  const chars = { ...Object.fromEntries(borders.map((name) => [name, ""])), middle: "  " };
  const style = { head: [], border: [], "padding-left": 0, "padding-right": 0 };
  const colWidths = columns.map(({ width }) => width ?? null);
  let waiting: string[][] = [columns.map(({ head }) => head)];

  function flush(): Promise<boolean> {
    const table = new Table({ chars, style, colWidths });
    table.push(...waiting);
    waiting = [];
    const lines = table.toString().split("\n");
    return output.write(lines.map((line) => `${line.trimEnd()}\n`).join(""));
  }

  return {
    async add(cells) {
      waiting.push([...cells]);
      return waiting.length < rowsAtOnce || (await flush());
    },
    end: async () => waiting.length === 0 || (await flush()),
  };
}
