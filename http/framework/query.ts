import { RefusalError } from "../../src/lib/errors.ts";
import type { ValidationResult } from "../../src/lib/validation.ts";
import type { QueryParameter } from "./operation.ts";

/** The query parameters of a schema, for people. */
export const toQueryParameters = ({
  properties,
}: {
  readonly properties: Readonly<Record<string, { readonly description: string }>>;
}): QueryParameter[] =>
  Object.entries(properties).map(([name, { description, ...schema }]) => ({ name, description, schema }));

/** The query, checked and with its defaults. Throws a RefusalError. */
export function validateQuery<T>(
  check: (value: unknown) => ValidationResult<T>,
  query: Readonly<Record<string, unknown>>,
): T {
  const checked = check({ ...query });
  if (checked.ok) return checked.value;
  throw new RefusalError("SCHEMA_VIOLATION", "The query is not what this operation takes.", checked.faults);
}
