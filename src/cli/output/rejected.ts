import { sanitize } from "./output.ts";
import { formatTable } from "./table.ts";

export interface RejectedDefinition {
  readonly place: string;
  readonly externalId: string;
  readonly code: string;
  readonly message: string;
}

/** Formats rejected definitions with the reasons as a table. */
export const formatRejected = (rejected: readonly RejectedDefinition[]): Promise<string> =>
  formatTable(
    ["rejected", "external id", "code", "reason"],
    rejected.map(({ place, externalId, code, message }) => [place, externalId, code, message].map(sanitize)),
    { colWidths: [null, null, null, 60], wordWrap: true },
  );
