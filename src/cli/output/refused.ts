import { visible } from "./output.ts";

/** A definition that was refused. */
export interface RefusedDefinition {
  readonly place: string;
  readonly externalId: string;
  readonly code: string;
  readonly message: string;
}

/** A table of definitions that were refused, with the reasons. */
export async function refusedTable(refused: readonly RefusedDefinition[]): Promise<string> {
  const { default: Table } = await import("cli-table3");
  const table = new Table({
    head: ["refused", "external id", "code", "why"],
    colWidths: [null, null, null, 60],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  table.push(
    ...refused.map(({ place, externalId, code, message }) =>
      [place, externalId, code, message].map((text) => visible(text)),
    ),
  );
  return table.toString();
}
