/** The reference of the HTTP operations in Markdown, made of what they are served by. */
import { statuses, type ErrorCode } from "../http/framework/errors.ts";
import { listFailures, meanings, ofEveryRequest } from "../http/framework/failures.ts";
import { tagDescriptions } from "../http/openapi/document.ts";
import type { Operation } from "../http/framework/operation.ts";
import { schemaName } from "../src/lib/published-schema.ts";
import { cell, table } from "./markdown.ts";
import { inWords, membersTable } from "./members.ts";

/** Every operation by its tag, then the bodies of their answers, then the codes. */
export function httpReference(operations: readonly Operation[]): string {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const parts = tags.flatMap((tag) => [
    `## ${capitalised(tag)}`,
    tagDescriptions[tag] ?? "",
    ...operations.filter((one) => one.tag === tag).map(described),
  ]);
  return [...parts, answers(operations), codes].filter((part) => part !== "").join("\n\n");
}

const capitalised = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

function described(operation: Operation): string {
  const { method, paths, summary, description, body } = operation;
  const [first = "", ...others] = paths;
  const also = others.length === 0 ? "" : `\n\nAlso ${others.map((path) => `\`${path}\``).join(", ")}.`;
  return [
    `### ${summary}`,
    `\`${method} ${first}\`, ${allowed(operation)}.${also}`,
    description,
    parametersOf(operation),
    body === undefined ? "" : bodyOf(body.schema),
    repliesOf(operation),
    refusalsOf(operation),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function allowed({ access }: Operation): string {
  if (access === "anybody") return "anybody";
  return access === "user" ? "any user" : `role \`${access}\``;
}

function parametersOf({ paths: [first = ""], parameters = {}, query = [] }: Operation): string {
  const ofPath = Array.from(first.matchAll(/\{(\w+)\}/g), ([, name = ""]) => [
    `\`{${name}}\``,
    "text, not empty",
    cell(parameters[name] ?? ""),
  ]);
  const ofQuery = query.map(({ name, description, schema }) => [
    `\`?${name}=\``,
    cell(inWords(schema)),
    cell(withDefault(description, schema)),
  ]);
  return ofPath.length + ofQuery.length === 0
    ? ""
    : table(["parameter", "what", "meaning"], [...ofPath, ...ofQuery]);
}

const withDefault = (
  description: string,
  schema: { readonly default?: string | number | boolean },
): string =>
  schema.default === undefined ? description : `${description} Default: \`${String(schema.default)}\`.`;

function bodyOf(schema: { readonly examples?: readonly unknown[] }): string {
  const [example] = schema.examples ?? [];
  const shown =
    example === undefined ? "" : `\n\n\`\`\`json\n${JSON.stringify(example, undefined, 2)}\n\`\`\``;
  return `The body:\n\n${membersTable(schema, { side: "sent" })}${shown}`;
}

const repliesOf = ({ replies }: Operation): string =>
  Object.entries(replies)
    .map(([status, { description, schema, mediaType }]) => {
      if (schema !== undefined) return `**${status}**: ${description} Body: ${linkTo(schema)}.`;
      return `**${status}**: ${description} ${mediaType === undefined ? "No body." : `As \`${mediaType}\`.`}`;
    })
    .join("\n\n");

const everyRequest: ReadonlySet<ErrorCode> = new Set(ofEveryRequest);

function refusalsOf(operation: Operation): string {
  const own = [...listFailures(operation)].flatMap(([status, its]) => {
    const told = its.filter((code) => !everyRequest.has(code));
    return told.length === 0 ? [] : [`${status} ${told.map((code) => `\`${code}\``).join(" ")}`];
  });
  return own.length === 0 ? "" : `Refusals: ${own.join("; ")}.`;
}

const linkTo = (schema: object): string => `[${schemaName(schema)}](#${schemaName(schema).toLowerCase()})`;

/** The body of each answer once, however many operations answer with it. */
function answers(operations: readonly Operation[]): string {
  const schemas = operations.flatMap(({ replies }) =>
    Object.values(replies).flatMap(({ schema }) => schema ?? []),
  );
  const named = new Map(schemas.map((schema) => [schemaName(schema), schema]));
  const elsewhere = (schema: { readonly $id?: string }): string | undefined =>
    schema.$id !== undefined && named.has(schemaName(schema)) ? linkTo(schema) : undefined;
  return [
    "## Bodies of answers",
    ...[...named].map(
      ([name, schema]) => `### ${name}\n\n${membersTable(schema, { side: "received", elsewhere })}`,
    ),
  ].join("\n\n");
}

const statusOf: Readonly<Record<string, number>> = statuses;

const codes = [
  "## Codes",
  `Every request can be refused with ${ofEveryRequest.map((code) => `\`${code}\``).join(", ")}.`,
  table(
    ["code", "status", "meaning"],
    Object.entries(meanings).map(([code, meaning]) => [`\`${code}\``, String(statusOf[code]), cell(meaning)]),
  ),
].join("\n\n");
