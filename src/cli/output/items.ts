import { UnavailableError } from "@topicsync/lib/errors";
import { openOutput } from "./output.ts";
import { createTableWriter, type Column } from "./table.ts";

interface ItemsOptions<Item> {
  readonly json: boolean | undefined;
  readonly columns: readonly Column[];
  readonly toRow: (item: Item) => readonly string[];
  /** By default the item. */
  readonly toJson?: (item: Item) => unknown;
  readonly limit?: number | undefined;
  readonly abort: AbortSignal;
}

/**
 * Prints items while they are read, as a table or as one line of JSON each. Returns how many, and whether
 * there are more; undefined if the reader has closed the pipe. Throws UnavailableError once aborted.
 */
export async function printItems<Item>(
  items: AsyncIterable<Item>,
  { json, columns, toRow, toJson = (item) => item, limit = Infinity, abort }: ItemsOptions<Item>,
): Promise<{ readonly count: number; readonly hasMore: boolean } | undefined> {
  const output = openOutput();
  const table = json ? undefined : await createTableWriter(output, columns);
  let count = 0;
  let hasMore = false;
  for await (const item of items) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${count}`);
    hasMore = count === limit;
    if (hasMore) break;
    count += 1;
    const isOpen =
      table === undefined
        ? await output.write(`${JSON.stringify(toJson(item))}\n`)
        : await table.add(toRow(item));
    if (!isOpen) return undefined;
  }
  if (count > 0) await table?.end();
  return { count, hasMore };
}
