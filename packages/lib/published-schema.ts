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

/** Keywords whose members have names of messages: a member may be named `format` or `expected`. */
const schemaMaps: ReadonlySet<string> = new Set(["properties", "patternProperties", "dependentRequired"]);
/** Keywords with values of the message itself. */
const dataKeywords: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"]);

function publishKeyword(keyword: string, value: unknown): unknown {
  if (dataKeywords.has(keyword)) return value;
  if (Array.isArray(value)) return value.map(publishIfObject);
  if (schemaMaps.has(keyword) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, publishIfObject(one)]));
  return publishIfObject(value);
}

const publishIfObject = (value: unknown): unknown => (isObject(value) ? publishSchema(value) : value);

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
