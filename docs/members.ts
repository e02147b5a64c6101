/** The members of a JSON Schema as a table of Markdown, for people. */
import { withoutNul } from "../src/lib/published-schema.ts";
import { cell, table } from "./markdown.ts";

type Plain = string | number | boolean | null;

/** As much of JSON Schema as our schemas say. */
interface Schema {
  readonly $id?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly Plain[];
  readonly const?: Plain;
  readonly default?: Plain;
  readonly format?: string;
  readonly pattern?: string;
  readonly expected?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** Whether the members are sent to the service, or come from it: who sends asks what has to be there, who reads what may not. */
export type Side = "sent" | "received";

export interface Reading {
  readonly side: Side;
  /** The name under which a schema within this one is shown elsewhere, as a link; undefined: its members stand here. */
  readonly elsewhere?: (schema: { readonly $id?: string }) => string | undefined;
}

/** The members of an object, one each row; those within others by their paths: `details[].path`. */
export function membersTable(schema: object, reading: Reading): string {
  const rows = members(schema, "", reading);
  return table(["member", "what", "meaning"], rows);
}

/** What a value may be, in words: "text, not empty, at most 4096 characters". */
export function inWords(schema: Schema): string {
  const { anyOf } = schema;
  if (anyOf !== undefined) return anyOf.map(inWords).join(" or ");
  return [kindOf(schema), ...limitsOf(schema)].join(", ");
}

function members(schema: Schema, path: string, reading: Reading): string[][] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((one) => members(one, path, reading));
  const { properties = {}, required = [], additionalProperties: others } = schema;
  const rows = Object.entries(properties).flatMap(([name, one]) =>
    member(one, { path: `${path}${name}`, isRequired: required.includes(name), reading }),
  );
  if (typeof others !== "object") return rows;
  return [
    ...rows,
    ...member(others, { path: `${path}<name>`, isRequired: reading.side === "received", reading }),
  ];
}

interface Place {
  readonly path: string;
  readonly isRequired: boolean;
  readonly reading: Reading;
}

function member(schema: Schema, { path, isRequired, reading }: Place): string[][] {
  const marks = {
    sent: isRequired ? "required" : undefined,
    received: isRequired ? undefined : "may be absent",
  };
  const shown = schema.items ?? schema;
  const link = reading.elsewhere?.(shown);
  const what = link === undefined ? inWords(schema) : schema.items === undefined ? link : `list of ${link}`;
  const row = [
    `\`${path}\``,
    cell([what, marks[reading.side]].filter((part) => part !== undefined).join(", ")),
    cell(meaningOf(schema)),
  ];
  if (link !== undefined) return [row];
  const within =
    schema.items === undefined
      ? members(schema, `${path}.`, reading)
      : members(schema.items, `${path}[].`, reading);
  return [row, ...within];
}

const meaningOf = ({ description = "", expected, default: usual }: Schema): string =>
  [
    description,
    ...(expected === undefined ? [] : [`Must be ${expected}.`]),
    ...(usual === undefined ? [] : [`Default: \`${String(usual)}\`.`]),
  ]
    .filter((part) => part !== "")
    .join(" ");

const kinds: Readonly<Record<string, string>> = {
  string: "text",
  integer: "whole number",
  number: "number",
  boolean: "true or false",
  null: "null",
  object: "object",
  array: "list",
};

function kindOf(schema: Schema): string {
  const { type, format, items } = schema;
  if (schema.const !== undefined) return quoted(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(quoted).join(" or ");
  if (format === "date-time")
    return ["time (RFC 3339)", ...(type?.includes("null") ? ["null"] : [])].join(" or ");
  const named = (typeof type === "string" ? [type] : (type ?? []))
    .map((one) => kinds[one] ?? one)
    .join(" or ");
  if (items?.properties === undefined && items !== undefined) return `${named} of ${inWords(items)}`;
  return named === "" ? "anything" : named;
}

const quoted = (value: Plain): string => (value === null ? "null" : `\`${String(value)}\``);

function limitsOf({
  minLength,
  maxLength,
  minimum,
  maximum,
  minItems,
  maxItems,
  pattern,
  expected,
  format,
}: Schema): string[] {
  const said: (string | false | undefined)[] = [
    minLength !== undefined && (minLength === 1 ? "not empty" : `at least ${minLength} characters`),
    maxLength !== undefined && `at most ${maxLength} characters`,
    minimum !== undefined && minimum !== 0 && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    minItems !== undefined && `at least ${minItems}`,
    maxItems !== undefined && `at most ${maxItems}`,
    pattern !== undefined &&
      pattern !== withoutNul &&
      expected === undefined &&
      format === undefined &&
      `\`${pattern}\``,
  ];
  return said.filter((one) => typeof one === "string");
}
