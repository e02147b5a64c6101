import { Refusal } from "../../src/lib/errors.ts";
import type { Checked } from "../../src/lib/validation.ts";
import type { QueryParameter } from "./operation.ts";

/** The query parameters of a schema, for people. */
export const queryParametersOf = ({
  properties,
}: {
  readonly properties: Readonly<Record<string, { readonly description: string }>>;
}): QueryParameter[] =>
  Object.entries(properties).map(([name, { description, ...schema }]) => ({ name, description, schema }));

/** The query, checked and with its defaults. Throws a Refusal. */
export function checkedQuery<T>(
  check: (value: unknown) => Checked<T>,
  query: Readonly<Record<string, unknown>>,
): T {
  const checked = check({ ...query });
  if (checked.ok) return checked.value;
  throw new Refusal("SCHEMA_VIOLATION", "The query is not what this operation takes.", checked.faults);
}
