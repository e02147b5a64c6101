import type { ErrorObject, Options, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";

import type { Fault } from "./errors.ts";
import { findNearest } from "./nearest.ts";
import { isDateTime } from "./time.ts";

export type ValidationResult<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly faults: readonly Fault[] };

/** Limits the response to a hostile body; further faults are only counted. */
const maxFaults = 50;

/** Creates a compiler for our schemas: JSON Schema 2020-12 with our own keywords and formats. */
export function createSchemaCompiler(options: Options): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    verbose: true,
    ...options,
  });
  // BSON strings are UTF-8: lone surrogates would be replaced, so that different texts would become equal.
  // NUL ends a string in many programs.
  ajv.addFormat("text", (text: string) => text.isWellFormed() && !text.includes("\0"));
  ajv.addFormat("date-time", isDateTime);
  ajv.addFormat("date", (text: string) => isDateTime(`${text}T00:00:00Z`));
  // Describes a pattern; used in messages instead of the pattern.
  ajv.addKeyword({ keyword: "expected", schemaType: "string" });
  return ajv;
}

// A test validates the schemas themselves. Doing so here would take a third of the start-up time.
const unchecked = { meta: false, validateSchema: false } as const;
const compiler = createSchemaCompiler(unchecked);
const compilerWithDefaults = createSchemaCompiler({ ...unchecked, useDefaults: true });

/**
 * Creates a validator that reports all faults and coerces nothing. `T` is the type derived from the schema;
 * `defaults` fills in the schema's defaults. The schema is compiled at first use, since most commands need
 * only a few.
 */
export function createValidator<T>(
  schema: object,
  { defaults = false } = {},
): (value: unknown) => ValidationResult<T> {
  let compiled: ValidateFunction<T> | undefined;
  return (value) => {
    const validate = (compiled ??= (defaults ? compilerWithDefaults : compiler).compile<T>(schema));
    return validate(value) ? { ok: true, value } : { ok: false, faults: toFaults(validate.errors ?? []) };
  };
}

function toFaults(found: readonly ErrorObject[]): Fault[] {
  // It only repeats that the error before it is about the name of a member.
  const errors = found.filter(({ keyword }) => keyword !== "propertyNames");
  const faults = errors.slice(0, maxFaults).map(toFault);
  if (errors.length > maxFaults)
    faults.push({ path: "", message: `has ${errors.length - maxFaults} more faults` });
  return faults;
}

function toFault(error: ErrorObject): Fault {
  const params = error.params as Record<string, unknown>;
  // A rule for the names of members reports the object.
  if (error.propertyName !== undefined)
    return {
      path: `${error.instancePath}/${escapePointer(error.propertyName)}`,
      message: `has a name that ${formatMessage(error, params)}`,
    };
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
        message: describeUnknownMember(error, String(params["additionalProperty"])),
      };
    default:
      return { path: error.instancePath, message: formatMessage(error, params) };
  }
}

function formatMessage(error: ErrorObject, params: Record<string, unknown>): string {
  const expected = (error.parentSchema as { expected?: string } | undefined)?.expected;
  switch (error.keyword) {
    case "type":
      // A query has only texts.
      if (params["type"] !== "string" && typeof error.data === "string" && expected !== undefined)
        return `must be ${expected}`;
      return `must be ${withArticle(params["type"])}, but is ${describeType(error.data)}`;
    case "minimum":
    case "maximum":
      return expected === undefined ? (error.message ?? "") : `must be ${expected}`;
    case "minLength":
      return params["limit"] === 1
        ? "must not be empty"
        : `must have at least ${String(params["limit"])} characters`;
    case "minItems":
      return "must not be empty";
    case "maxLength":
      return `must have at most ${String(params["limit"])} characters`;
    case "maxItems":
      return `must have at most ${String(params["limit"])} elements`;
    case "maxProperties":
      return `must have at most ${String(params["limit"])} members`;
    case "enum":
      return `must be one of ${(params["allowedValues"] as unknown[]).join(", ")}`;
    case "format":
      return (
        formatRules[String(params["format"])] ?? "must be well-formed Unicode text without NUL characters"
      );
    case "pattern":
      return `must be ${expected ?? `text that matches ${String(params["pattern"])}`}`;
    default:
      return error.message ?? `breaks the rule "${error.keyword}"`;
  }
}

const formatRules: Readonly<Record<string, string>> = {
  "date-time": "must be a time such as 2026-11-21T07:18:04Z (RFC 3339)",
  date: "must be a date such as 2026-11-21",
};

function describeUnknownMember(error: ErrorObject, member: string): string {
  const schema = error.parentSchema as { properties?: object } | undefined;
  const known = Object.keys(schema?.properties ?? {});
  const meant =
    known.find((name) => name.toLowerCase() === member.toLowerCase().replaceAll(/[_-]/g, "")) ??
    findNearest(member, known, member.length > 4 ? 2 : 1);
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
