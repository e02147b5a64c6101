/**
 * Converts one of our schemas to plain JSON Schema 2020-12: replaces our own keywords (validation.ts) with
 * standard ones, and removes the `$id`.
 */
export function publishSchema(schema: object): Record<string, unknown> {
  const { description, expected, format, pattern } = schema as Readonly<Record<string, unknown>>;
  const published = Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => keyword !== "$id" && keyword !== "expected")
      .map(([keyword, value]) => [keyword, publishKeyword(keyword, value)]),
  );
  if (typeof expected === "string")
    published["description"] = [description, `Must be ${expected}.`].filter(Boolean).join(" ");
  if (format === "text") {
    delete published["format"];
    published["pattern"] = pattern ?? withoutNul;
  }
  return published;
}

/**
 * Returns the component name of a schema: `TopicBody` for the `$id` "topic-body". Throws for a schema without
 * `$id`.
 */
export function getSchemaName({ $id }: { readonly $id?: unknown }): string {
  if (typeof $id !== "string") throw new Error("a published schema needs an $id");
  return $id.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The part of the format `text` that a pattern can express; JSON is always well-formed Unicode. */
const withoutNul = "^[^\\u0000]*$";

const schemaMaps: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
]);
const schemaLists: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const schemaKeywords: ReadonlySet<string> = new Set([
  "additionalProperties",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
]);

/** Recurses into keywords that contain schemas only: a member may be named `format` or `expected`. */
function publishKeyword(keyword: string, value: unknown): unknown {
  if (schemaLists.has(keyword) && Array.isArray(value)) return value.map(publishIfObject);
  if (schemaKeywords.has(keyword)) return publishIfObject(value);
  if (schemaMaps.has(keyword) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, publishIfObject(one)]));
  return value;
}

const publishIfObject = (value: unknown): unknown => (isObject(value) ? publishSchema(value) : value);

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
