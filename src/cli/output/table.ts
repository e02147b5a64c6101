import type { Output } from "./output.ts";

export interface Column {
  readonly head: string;
  /** In characters; longer cells are cut. Default: the width of the widest cell. */
  readonly width?: number;
}

/** A table without borders that is written in chunks of rows, so that it can be of any length. */
interface TableWriter {
  /** Resolves to false once the reader has closed the pipe. */
  add(cells: readonly string[]): Promise<boolean>;
  end(): Promise<boolean>;
}

const rowsPerChunk = 200;
const borders = [
  "top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right",
  "left left-mid mid mid-mid right right-mid",
].flatMap((names) => names.split(" "));

/** Formats a small table with borders. */
export async function formatTable(
  head: string[],
  rows: readonly string[][],
  options: { readonly colWidths?: (number | null)[]; readonly wordWrap?: boolean } = {},
): Promise<string> {
  const { default: Table } = await import("cli-table3");
  const table = new Table({ ...options, head, style: { head: [], border: [] } });
  table.push(...rows);
  return table.toString();
}

/** Starts a table; the heads are its first row. */
export async function createTableWriter(output: Output, columns: readonly Column[]): Promise<TableWriter> {
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
      return waiting.length < rowsPerChunk || (await flush());
    },
    end: async () => waiting.length === 0 || (await flush()),
  };
}
