import { RejectionError, type Fault } from "../../src/lib/errors.ts";
import type { ValidationResult } from "../../src/lib/validation.ts";
import type { QueryParameter } from "./operation.ts";

/** The query parameters of a schema, for the documentation. */
export const toQueryParameters = ({
  properties,
}: {
  readonly properties: Readonly<Record<string, { readonly description: string }>>;
}): QueryParameter[] =>
  Object.entries(properties).map(([name, { description, ...schema }]) => ({ name, description, schema }));

/** Returns the query with its defaults. Throws a RejectionError. */
export function validateQuery<T>(
  check: (value: unknown) => ValidationResult<T>,
  query: Readonly<Record<string, unknown>>,
): T {
  const checked = check({ ...query });
  if (checked.ok) return checked.value;
  throw invalidQuery(checked.faults);
}

const invalidQuery = (faults: readonly Fault[]): RejectionError =>
  new RejectionError("SCHEMA_VIOLATION", "The query does not match the schema.", faults);
