import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

/** A response to check against the OpenAPI document. */
export interface ReceivedResponse {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface Header {
  readonly required?: boolean;
}

interface Response {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, object>>;
}

interface Operation {
  readonly responses: Readonly<Record<string, object>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** The committed document; documentation.test.ts checks that the service serves it. */
const document = JSON.parse(
  readFileSync(new URL("../../docs/openapi.json", import.meta.url), "utf8"),
) as Document;
const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { "date-time": isTime, date: isTime } });
ajv.addSchema(document, "document");

/** A part of the document and its location. */
interface Part<T> {
  readonly value: T;
  readonly pointer: readonly string[];
}

/** Finds a part, following references. */
function resolvePart<T>(...pointer: string[]): Part<T> {
  const value = pointer.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
  const { $ref } = value as { $ref?: string };
  return $ref === undefined
    ? { value: value as T, pointer }
    : resolvePart<T>(...$ref.slice("#/".length).split("/"));
}

function getValidator(...pointer: string[]): ValidateFunction {
  const steps = pointer.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1")));
  const validate = ajv.getSchema(`document#/${steps.join("/")}`);
  assert.ok(validate !== undefined, `the document has no schema at ${pointer.join(" ")}`);
  return validate;
}

const paths = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

/** Throws if the OpenAPI document does not allow a response, and says what it allows. */
export function assertKeepsContract(received: ReceivedResponse): void {
  const { method, url, status, headers, text } = received;
  const { pathname } = new URL(url);
  const what = `${method} ${pathname} returned ${status}, "${headers.get("content-type") ?? "no content type"}": ${text.slice(0, 500)}\n`;
  const path = (paths.find((one) => one.path === pathname) ?? paths.find((one) => one.pattern.test(pathname)))
    ?.path;
  if (path === undefined) {
    assert.equal(status, 404, `${what}The OpenAPI document has no such path`);
    assertError(what, text, "NOT_FOUND");
    return;
  }
  const operations = document.paths[path] ?? {};
  const asked = (method === "HEAD" ? "GET" : method).toLowerCase();
  const name = operations[asked] === undefined ? Object.keys(operations)[0] : asked;
  assert.ok(name !== undefined);
  if (name !== asked)
    assert.equal(
      status,
      405,
      `${what}The OpenAPI document describes only ${Object.keys(operations).join(", ")}`,
    );
  const { responses } = resolvePart<Operation>("paths", path, name).value;
  assert.ok(
    Object.hasOwn(responses, status),
    `${what}The OpenAPI document has the statuses ${Object.keys(responses).join(", ")}`,
  );
  const response = resolvePart<Response>("paths", path, name, "responses", String(status));
  assertHeaders(what, response, headers);
  if (method !== "HEAD") assertBody(what, response, received);
}

function assertHeaders(what: string, { value, pointer }: Part<Response>, headers: Headers): void {
  for (const name of Object.keys(value.headers ?? {})) {
    const header = resolvePart<Header>(...pointer, "headers", name);
    const given = headers.get(name);
    if (given === null) {
      assert.ok(header.value.required !== true, `${what}The header ${name} is missing`);
      continue;
    }
    const validate = getValidator(...header.pointer, "schema");
    assert.ok(validate(given), `${what}The header ${name} is "${given}": ${ajv.errorsText(validate.errors)}`);
  }
}

function assertBody(
  what: string,
  { value, pointer }: Part<Response>,
  { headers, text }: ReceivedResponse,
): void {
  if (value.content === undefined) {
    assert.equal(text, "", `${what}The OpenAPI document describes no body`);
    return;
  }
  const given = headers.get("content-type")?.split(";")[0] ?? "";
  const types = Object.keys(value.content);
  const type = types.find((one) => one === given || one === given.replace(/\/.*/, "/*"));
  assert.ok(type !== undefined, `${what}The OpenAPI document has the content types ${types.join(", ")}`);
  const validate = getValidator(...pointer, "content", type, "schema");
  const body: unknown = type === "application/json" ? JSON.parse(text) : text;
  assert.ok(
    validate(body),
    `${what}The body violates the OpenAPI document: ${ajv.errorsText(validate.errors)}`,
  );
}

function assertError(what: string, text: string, code: string): void {
  const validate = getValidator("components", "schemas", "ErrorBody");
  const body = JSON.parse(text) as { error: { code: string } };
  assert.ok(validate(body), `${what}The error body is invalid: ${ajv.errorsText(validate.errors)}`);
  assert.equal(body.error.code, code, what);
}
