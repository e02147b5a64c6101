import type { ErrorObject, Options, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";

import type { Fault } from "./errors.ts";

/** What a check found: the value, now typed, or every fault. */
export type ValidationResult<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly faults: readonly Fault[] };

/** More faults than this are counted, not listed: a hostile body must not be answered with megabytes. */
const maxFaults = 50;

/** How our schemas are read: JSON Schema 2020-12, with the words that they use beyond its own. */
export function createSchemaCompiler(options: Options): Ajv2020 {
  const one = new Ajv2020({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    verbose: true,
    ...options,
  });
  // BSON strings are UTF-8: a lone surrogate would be stored as another character than was sent, so that two different
  // texts became one. NUL ends a string in too many of the programs that read these records.
  one.addFormat("text", (text: string) => text.isWellFormed() && !text.includes("\0"));
  one.addFormat("date-time", isDateTime);
  // Says in words what a pattern wants; it stands in the message instead of the pattern.
  one.addKeyword({ keyword: "expected", schemaType: "string" });
  return one;
}

// That the schemas are schemas is shown by a test: to check it again would take a third of the time of every start.
const trusting = { meta: false, validateSchema: false } as const;
const reader = createSchemaCompiler(trusting);
const readerWithDefaults = createSchemaCompiler({ ...trusting, useDefaults: true });

/**
 * The check against a schema. It coerces nothing and reports all faults, each with the JSON Pointer of its member; the
 * schema's defaults are filled in only where that is asked for. `T` is the type that is derived from the same schema.
 * The schema is compiled when it is first needed: most runs of the program need few of the many.
 */
export function createValidator<T>(
  schema: object,
  { defaults = false } = {},
): (value: unknown) => ValidationResult<T> {
  let compiled: ValidateFunction<T> | undefined;
  return (value) => {
    const validate = (compiled ??= (defaults ? readerWithDefaults : reader).compile<T>(schema));
    return validate(value) ? { ok: true, value } : { ok: false, faults: describe(validate.errors ?? []) };
  };
}

/** A time of RFC 3339 on a day that there is: JavaScript takes 31 February for 3 March. */
function isDateTime(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text)) return false;
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(Date.parse(text)) && day.toISOString().startsWith(text.slice(0, 10));
}

function describe(errors: readonly ErrorObject[]): Fault[] {
  const faults = errors.slice(0, maxFaults).map(fault);
  if (errors.length > maxFaults)
    faults.push({ path: "", message: `has ${errors.length - maxFaults} more faults` });
  return faults;
}

function fault(error: ErrorObject): Fault {
  const params = error.params as Record<string, unknown>;
  const at = (member: unknown) => `${error.instancePath}/${escapePointer(String(member))}`;
  switch (error.keyword) {
    case "required":
      return { path: at(params["missingProperty"]), message: "is required" };
    case "dependentRequired":
    case "dependencies":
      return {
        path: at(params["missingProperty"]),
        message: `is required when ${String(params["property"])} is set`,
      };
    case "additionalProperties":
      return {
        path: at(params["additionalProperty"]),
        message: unknownMember(error, String(params["additionalProperty"])),
      };
    default:
      return { path: error.instancePath, message: sentence(error, params) };
  }
}

function sentence(error: ErrorObject, params: Record<string, unknown>): string {
  switch (error.keyword) {
    case "type":
      return `must be ${withArticle(params["type"])}, but is ${describeType(error.data)}`;
    case "minLength":
      return params["limit"] === 1
        ? "must not be empty"
        : `must have at least ${String(params["limit"])} characters`;
    case "minItems":
      return "must not be empty";
    case "maxLength":
      return `must have at most ${String(params["limit"])} characters`;
    case "enum":
      return `must be one of ${(params["allowedValues"] as unknown[]).join(", ")}`;
    case "format":
      return params["format"] === "date-time"
        ? "must be a time such as 2026-11-21T07:18:04Z (RFC 3339)"
        : "must be well-formed Unicode text without NUL characters";
    case "pattern":
      return `must be ${expectation(error) ?? `text that matches ${String(params["pattern"])}`}`;
    default:
      return error.message ?? `breaks the rule "${error.keyword}"`;
  }
}

function expectation(error: ErrorObject): string | undefined {
  return (error.parentSchema as { expected?: string } | undefined)?.expected;
}

function unknownMember(error: ErrorObject, member: string): string {
  const schema = error.parentSchema as { properties?: object } | undefined;
  const known = Object.keys(schema?.properties ?? {});
  const meant = known.find((name) => name.toLowerCase() === member.toLowerCase().replaceAll(/[_-]/g, ""));
  return meant === undefined
    ? `is not a known member; known are ${known.join(", ")}`
    : `is not a known member; did you mean ${meant}?`;
}

function withArticle(type: unknown): string {
  const types = (Array.isArray(type) ? type : String(type).split(",")) as string[];
  return types
    .map((one) => (one === "null" ? one : /^[aeiou]/.test(one) ? `an ${one}` : `a ${one}`))
    .join(" or ");
}

function describeType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return withArticle(typeof value);
}

const escapePointer = (member: string): string => member.replaceAll("~", "~0").replaceAll("/", "~1");
