import { sanitize } from "./output.ts";
import { formatTable } from "./table.ts";

/** A refused definition. */
export interface RefusedDefinition {
  readonly place: string;
  readonly externalId: string;
  readonly code: string;
  readonly message: string;
}

/** Formats refused definitions with the reasons as a table. */
export const formatRefused = (refused: readonly RefusedDefinition[]): Promise<string> =>
  formatTable(
    ["refused", "external id", "code", "reason"],
    refused.map(({ place, externalId, code, message }) => [place, externalId, code, message].map(sanitize)),
    { colWidths: [null, null, null, 60], wordWrap: true },
  );
