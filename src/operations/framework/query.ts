import { RejectionError } from "@topicsync/lib/errors";
import { createValidator } from "@topicsync/lib/validation";
import type { QueryParameter, QueryRules } from "./operation.ts";

interface QuerySchema {
  readonly properties: Readonly<Record<string, { readonly description: string; readonly type?: unknown }>>;
}

/** Rules from the schema of a query. `Query` is the type derived from it. */
export function queryRules<Query>(schema: QuerySchema): QueryRules<Query> {
  const check = createValidator<Query>(schema, { defaults: true });
  return {
    parameters: Object.entries(schema.properties).map(toParameter),
    read(texts) {
      const checked = check(convert(texts, schema));
      if (checked.ok) return checked.value;
      throw new RejectionError("SCHEMA_VIOLATION", "The query does not match the schema.", checked.faults);
    },
  };
}

/** For a query that somebody else defines: neither checked nor documented. */
export const foreignQuery: QueryRules<Readonly<Record<string, unknown>>> = {
  parameters: [],
  read: (texts) => texts,
};

const toParameter = ([name, { description, ...schema }]: [
  string,
  QuerySchema["properties"][string],
]): QueryParameter => ({ name, description, schema });

/** Converts texts as the schema requires. Texts that it cannot convert remain, and violate the schema. */
function convert(texts: Readonly<Record<string, unknown>>, { properties }: QuerySchema): object {
  const query: Record<string, unknown> = { ...texts };
  for (const [name, { type }] of Object.entries(properties)) {
    const text = query[name];
    if (type === "integer" && typeof text === "string" && wholeNumber.test(text)) query[name] = Number(text);
    if (type === "array" && typeof text === "string") query[name] = text.split(",");
    if (type === "boolean" && (text === "true" || text === "false")) query[name] = text === "true";
  }
  return query;
}

const wholeNumber = /^(?:0|[1-9][0-9]{0,14})$/;
