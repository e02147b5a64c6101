/**
 * A schema as others read it: plain JSON Schema 2020-12. Our own words (validation.ts) become ones that everybody knows, and the
 * `$id` goes, since the schema is named by where it stands.
 */
export function publishedSchema(schema: object): Record<string, unknown> {
  const { description, expected, format, pattern } = schema as Readonly<Record<string, unknown>>;
  const published = Object.fromEntries(
    Object.entries(schema)
      .filter(([word]) => word !== "$id" && word !== "expected")
      .map(([word, value]) => [word, publishedWord(word, value)]),
  );
  if (typeof expected === "string")
    published["description"] = [description, `Must be ${expected}.`].filter(Boolean).join(" ");
  if (format === "text") {
    delete published["format"];
    published["pattern"] = pattern ?? withoutNul;
  }
  return published;
}

/** The name of a schema among others: `TopicBody` for the `$id` "topic-body". Throws for a schema without one. */
export function schemaName({ $id }: { readonly $id?: unknown }): string {
  if (typeof $id !== "string") throw new Error("a schema that is published needs an $id");
  return $id.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Of the format `text`, what a pattern can say. That text is well-formed Unicode goes without saying: JSON is UTF-8. */
export const withoutNul = "^[^\\u0000]*$";

const schemaMaps: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
]);
const schemaLists: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const schemaWords: ReadonlySet<string> = new Set([
  "additionalProperties",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
]);

/** Goes into a word only where schemas stand in it: a member may be called `format` or `expected` as well. */
function publishedWord(word: string, value: unknown): unknown {
  if (schemaLists.has(word) && Array.isArray(value)) return value.map(publishedIfObject);
  if (schemaWords.has(word)) return publishedIfObject(value);
  if (schemaMaps.has(word) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, publishedIfObject(one)]));
  return value;
}

const publishedIfObject = (value: unknown): unknown => (isObject(value) ? publishedSchema(value) : value);

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
